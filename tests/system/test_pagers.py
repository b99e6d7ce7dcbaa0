"""Programs that are the pagers of their own memory, well-behaved or not: nobody else waits for them."""
import pytest

BESIDE = "run lru-read --mib 60"


@pytest.mark.parametrize("mode", ["good", "needy"])
def test_a_programs_own_pager_beside_readers_that_fill_memory(run, mode):
    """Its object has more pages than all such objects may have in the cache: they go out and in."""
    vm = run(f"run pager --mode {mode} --pages 4000 --passes 1 &; {BESIDE}; wait; mem", mem=48)
    result = vm.result(workload="pager", mode=mode)
    assert result["bad_pages"] == 0 and result["page_outs"] > 1000
    assert vm.result(workload="lru-read")["bad_pages"] == 0


def test_a_pager_that_never_answers_a_page_out_loses_its_object_and_nobody_waits(run):
    vm = run(f"run pager --mode mute --pages 4000 &; {BESIDE}; wait; mem", mem=48)
    assert vm.result(workload="pager", mode="mute")["signal"] == 7
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    assert len(vm.lines(r"did not take a page: it is a pager no more")) == 1


def test_pages_that_a_pager_refuses_are_tried_again_and_then_reported(run):
    vm = run(f"run pager --mode refuse --pages 4000 --passes 1 &; {BESIDE}; wait; mem", mem=48)
    assert vm.result(workload="pager", mode="refuse")["page_outs"] > 3
    assert vm.lines(r"pages lost, page \d+ of file 1 the last: the pager refused each 3 times")
    assert vm.result(workload="lru-read")["bad_pages"] == 0
