# shellcheck shell=bash
#
# packages.sh: the Debian packages that building and testing need.
#
#   packages_missing NAME ...   print those that are not installed
#   packages_install NAME ...   install them, or say what to ask for
#
# As root on Debian what is missing is installed; anybody else is told.

# Building, and everything that ./check runs.
PACKAGES_CHECK='postgresql-15 postgresql-server-dev-15 liblz4-dev libzstd-dev
	libipc-run-perl python3-psycopg gcc libc6-dev make dpkg-dev patch perl'

# Besides, for a server from source, which ./check --long builds.
PACKAGES_LONG='bison flex libicu-dev libxml2-dev zlib1g-dev'

packages_missing() {
	local name

	for name; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null |
			grep -q ' installed$' || echo "$name"
	done
}

packages_install() {
	local missing log

	if ! command -v dpkg-query >/dev/null; then
		echo "not a Debian system: whether these are there is not known:" $* >&2
		return 0
	fi
	missing=$(packages_missing "$@" | xargs)
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "packages are missing; as root, run" >&2
		echo "    apt-get install $missing" >&2
		return 1
	fi
	echo "installing $missing"
	# In a variable, so that nothing is left behind by Ctrl-C
	if ! log=$({ apt-get -q update &&
		DEBIAN_FRONTEND=noninteractive apt-get -q -y \
			--no-install-recommends install $missing; } \
		2>&1 </dev/null); then
		tail -n 20 <<<"$log" >&2
		echo "could not install $missing" >&2
		return 1
	fi
}
