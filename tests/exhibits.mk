# exhibits.mk - the bug museum (docs/08-museum.md).
#
#   make museum                      every known fault is put back, and must be caught
#   make museum E=07                 one of them; its tree stays in build/museum/07

E ?=

.PHONY: museum
museum: kernel build/initrd/bin/fs build/initrd.tar | build/.setup-run build/.setup-test
	@$(PYTHON) tools/museum $(E)
