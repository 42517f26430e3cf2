# shellcheck shell=bash
#
# archive.sh: files from the Debian archive, without touching the system's apt.
#
#   archive_cache                    the directory that downloads are kept in
#   archive_suites MAJOR             the suites that have that PostgreSQL; none
#                                    for the one that this system has
#   archive_source PACKAGE DIR [SUITE ...]
#                                    unpack the newest source of PACKAGE,
#                                    without Debian's own patches
#   archive_package PACKAGE DIR SUITE ...
#                                    unpack the newest binary PACKAGE of SUITEs
#
# Both unpack into DIR/VERSION, where VERSION is PostgreSQL's (15.18), and
# print that directory.  What is there already is used for a day without
# asking, and after that if the archive does not answer.
#
# A mirror may lag behind: how old its lists are is not looked at, who signed
# them is.
#
# The archive and its keys are those that the system's own apt uses, with a
# list file of our own: apt's state is below the cache, so that nobody needs to
# be root.

archive_cache() {
	local cache=${PG_TOASTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pg_toaster}

	mkdir -p "$cache" && echo "$cache"
}

archive_suites() {
	case $1 in
		15) ;;
		17) echo trixie ;;
		*) echo forky sid ;;
	esac
}

# Lines of "address suite" of the Debian archives of this system.
archive_sites() {
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE)' \
		'Created-By: Packages' | sed -n 's/^Debian \(.* .*\)/\1/p' | sort -u
}

# apt-get or apt-cache on the private state STATE
archive_apt() {
	local state=$1 program=$2
	shift 2

	"$program" -q -o Dir::Etc::SourceList="$state/sources.list" \
		-o Dir::Etc::SourceParts=- -o Dir::State="$state" \
		-o Dir::State::Status=/var/lib/dpkg/status -o Dir::Cache="$state" \
		-o APT::Sandbox::User="$(id -un)" -o APT::Default-Release= \
		-o Acquire::Check-Valid-Until=false -o Acquire::Retries=2 "$@"
}

# Ask the archive what there is; the list of sources comes from stdin.
archive_update() {
	local state=$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg

	mkdir -p "$state/lists/partial" "$state/archives/partial"
	sed "s,@,[signed-by=$keys]," >"$state/sources.list"
	if [ ! -s "$state/sources.list" ]; then
		echo "no Debian archive is configured: run apt-get update as root" >&2
		return 1
	fi
	archive_apt "$state" apt-get -o APT::Update::Error-Mode=any update \
		>"$state/log" 2>&1 || {
		tail -n 5 "$state/log" >&2
		return 1
	}
}

# The newest directory in DIR, if one was unpacked; with "fresh" only if the
# archive was asked in the last day.
archive_unpacked() {
	local dir=$1

	if [ "${2:-}" = fresh ]; then
		[ -n "$(find "$dir/asked" -mtime -1 2>/dev/null)" ] || return
	fi
	find "$dir" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' 2>/dev/null |
		sort -V | tail -n 1 | grep .
}

# Move what was unpacked to DIR/VERSION.
archive_keep() {
	local from=$1 dir=$2 version=$3

	# PostgreSQL's part of Debian's version
	version=${version#*:}
	version=${version%%-*}
	rm -rf "${dir:?}/$version" && mv "$from" "$dir/$version" &&
		touch "$dir/asked" && echo "$dir/$version"
}

# Lines of "TYPE @ address suite main": of these suites, or of this system's
archive_lines() {
	local type=$1 site suite
	shift

	if [ $# -eq 0 ]; then
		archive_sites | sed "s,^,$type @ ,; s,\$, main,"
		return
	fi
	site=$(archive_sites | grep -v -- -security | head -n 1)
	for suite; do
		[ -z "$site" ] || echo "$type @ ${site% *} $suite main"
	done
}

archive_fetch_source() {
	local package=$1 dir=$2 new version
	shift 2

	archive_lines deb-src "$@" | archive_update "$dir/apt" || return
	# Newest first: a mirror may list a version that it no longer has.
	for version in $(archive_apt "$dir/apt" apt-cache madison "$package" |
		cut -d '|' -f 2 | sort -u -r -V); do
		new=$(mktemp -d "$dir/new.XXXXXX") || return
		if (cd "$new" &&
			archive_apt "$dir/apt" apt-get --download-only source \
				"$package=$version" &&
			dpkg-source --skip-patches -x ./*.dsc tree) \
			>"$dir/log" 2>&1; then
			archive_keep "$new/tree" "$dir" "$version" || return
			rm -rf "$new"
			return
		fi
		rm -rf "$new"
	done
	tail -n 5 "$dir/log" >&2
	return 1
}

archive_fetch_package() {
	local package=$1 dir=$2 file new
	shift 2

	archive_lines deb "$@" | archive_update "$dir/apt" || return
	new=$(mktemp -d "$dir/new.XXXXXX") || return
	if ! (cd "$new" && archive_apt "$dir/apt" apt-get download "$package") \
		>"$dir/log" 2>&1; then
		tail -n 5 "$dir/log" >&2
		rm -rf "$new"
		return 1
	fi
	file=$(find "$new" -name '*.deb')
	dpkg-deb -x "$file" "$new/tree" &&
		archive_keep "$new/tree" "$dir" \
			"$(dpkg-deb -f "$file" Version)" || return
	rm -rf "$new"
}

archive_get() {
	local fetch=$1 package=$2 dir=$3

	mkdir -p "$dir" || return
	archive_unpacked "$dir" fresh && return
	"$@" && return
	if archive_unpacked "$dir"; then
		echo "the archive does not answer: an older $package is used" >&2
		return
	fi
	echo "$package cannot be had from the Debian archive" >&2
	return 1
}

archive_source() {
	archive_get archive_fetch_source "$@"
}

archive_package() {
	archive_get archive_fetch_package "$@"
}
