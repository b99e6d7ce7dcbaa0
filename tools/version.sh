# version.sh - finds and compares version numbers; to be sourced (POSIX sh).

# The version in the first line of a program's `--version` output. What stands in parentheses is
# about the package or the project: `GNU gdb (Debian 13.1-3) 13.1`.
version_of() {
	printf '%s\n' "$1" | sed -e 1q | sed 's/([^()]*)/ /g' | tr ' \t' '\n\n' |
		sed -n 's/^v\{0,1\}\([0-9][0-9]*\(\.[0-9][0-9]*\)*\).*/\1/p' | sed -e 1q
}

# version_at_least FOUND NEEDED: compares number by number; what is left out counts as 0.
version_at_least() {
	_found=$1. _needed=$2.
	while [ -n "$_needed" ]; do
		_f=${_found%%.*} _n=${_needed%%.*}
		[ "${_f:-0}" -gt "$_n" ] && return 0
		[ "${_f:-0}" -lt "$_n" ] && return 1
		_found=${_found#*.} _needed=${_needed#*.}
	done
	return 0
}
