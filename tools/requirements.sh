# requirements.sh - reads requirements.tab and looks at this host; to be sourced (POSIX sh).
# Needs $tools, the directory it lies in.

. "$tools/version.sh"

# The package manager in the order in which the table has its columns; sets $manager and $column.
find_manager() {
	column=4
	for manager in apt-get dnf pacman zypper apk brew; do
		command -v "$manager" >/dev/null 2>&1 && return 0
		column=$((column + 1))
	done
	manager=none column=4
}

# The command that installs packages here.
install_command() {
	case $manager in
	apt-get) echo "apt-get install -y --no-install-recommends" ;;
	dnf) echo "dnf install -y" ;;
	pacman) echo "pacman -S --needed" ;;
	zypper) echo "zypper install" ;;
	apk) echo "apk add" ;;
	brew) echo "brew install" ;;
	*) echo "install the Debian packages" ;;
	esac
}

# Sets $state (ok, missing, old) and $found (a version, or -) for one thing and its minimum.
probe() {
	state=ok found=- _name=${1#*:}
	case $1 in
	file:*)
		[ -e "$_name" ] || state=missing
		return ;;
	cmd:*)
		command -v "$_name" >/dev/null 2>&1 || { state=missing; return; }
		found=$(version_of "$("$_name" --version 2>/dev/null)") ;;
	py:*)
		found=$(/usr/bin/python3 -c "import $_name; print($_name.__version__)" 2>/dev/null) ||
			{ state=missing; found=-; return; } ;;
	esac
	found=${found:-unknown}
	[ "$2" = - ] || [ "$found" = unknown ] || version_at_least "$found" "$2" || state=old
}

# each_requirement GROUPS COMMAND: calls it with group, thing, minimum and the package's name here.
each_requirement() {
	while read -r _group _thing _minimum _packages; do
		case $_group in '' | \#*) continue ;; esac
		case " $1 " in *" $_group "*) ;; *) continue ;; esac
		_package=$(echo "$_packages" | awk "{ print \$$((column - 3)) }")
		"$2" "$_group" "$_thing" "$_minimum" "$_package" </dev/null
	done <"$tools/requirements.tab"
}
