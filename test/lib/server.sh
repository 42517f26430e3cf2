# shellcheck shell=bash
#
# server.sh: a private PostgreSQL server with the extension in it.
#
# Sourced by the scripts that need a server (./demo, bench/run).  Nothing is
# installed into the system: the server's programs are copied below a
# directory of the caller's, where they find their libraries relative to
# themselves, and the extension is built and installed there.
#
#   server_packages NAME ...    packages_install, without a server of Debian's
#   server_find                 set SERVER_PG_CONFIG, or say what is missing
#   server_tree ROOT            copy the server below ROOT
#   server_build ROOT SOURCES   build the extension, install it below ROOT
#   server_init ROOT NAME       create the cluster ROOT/NAME
#   server_start ROOT NAME 'setting = value' ...
#   server_stop ROOT NAME       stop it if it runs; never fails
#   server_as COMMAND ...       run a command as the account of the server
#   server_scratch              SERVER_ROOT, removed at exit with its servers
#   server_run COMMAND ...      run a command that a signal to us ends as well
#
# Rules
#   1. The server runs as the caller, or, since PostgreSQL refuses to run as
#      root, as an unprivileged account when the caller is root.
#   2. It listens on a unix socket in ROOT/NAME.socket only, which nobody else
#      can enter.
#   3. ROOT belongs to the caller, who removes it, after server_stop.

server_fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	return 1
}

# The account that servers run as.
server_account() {
	if [ "$(id -u)" -ne 0 ]; then
		id -un
	elif id -u postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

server_as() {
	if [ "$(id -u)" -eq 0 ]; then
		(cd / && runuser -u "$(server_account)" -- "$@")
	else
		(cd / && "$@")
	fi
}

# Debian creates and starts a server of its own where PostgreSQL is installed
# for the first time.  Nobody asked for that one, and it would be left running.
server_packages() {
	local directory=/etc/postgresql-common/createcluster.d

	if [ "$(id -u)" -ne 0 ] || [ -z "$(packages_missing postgresql-15)" ]; then
		packages_install "$@"
		return
	fi
	(
		trap 'rm -f $directory/pg_toaster.conf
			rmdir --ignore-fail-on-non-empty $directory' EXIT
		trap 'exit 130' INT
		trap 'exit 143' HUP TERM
		mkdir -p $directory &&
			echo 'create_main_cluster = false' >$directory/pg_toaster.conf &&
			packages_install "$@"
	)
}

# PG_CONFIG in the environment chooses the server; the default is Debian's 15.
server_find() {
	local config=${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}

	config=$(command -v "$config") ||
		server_fail "${PG_CONFIG:-PostgreSQL 15} not found" || return
	[ -x "$("$config" --bindir)/initdb" ] ||
		server_fail "no PostgreSQL server beside $config" || return
	[ -f "$("$config" --pgxs)" ] ||
		server_fail "no development files of PostgreSQL beside $config" || return
	SERVER_PG_CONFIG=$config
	SERVER_BIN=$("$config" --bindir)
}

# Only the programs are copied: they look for their libraries relative to where
# they are themselves, symbolic links resolved.
server_tree() {
	local root=$1 bin lib share

	bin=$("$SERVER_PG_CONFIG" --bindir)
	lib=$("$SERVER_PG_CONFIG" --pkglibdir)
	share=$("$SERVER_PG_CONFIG" --sharedir)
	mkdir -p "$root$bin" "$root$lib" "$root$share" &&
		cp -rL "$bin/." "$root$bin" &&
		cp -rs "$lib/." "$root$lib" &&
		cp -rs "$share/." "$root$share" ||
		server_fail "cannot copy the server to $root" || return
	if [ "$(id -u)" -eq 0 ]; then
		chown "$(server_account)" "$root" || return
	fi
}

# The sources are copied first, so that a checkout that belongs to somebody
# else, or was built for another server, does no harm and takes none.
server_build() {
	local root=$1 sources=$2 log=$1/build.log

	mkdir -p "$root/build" &&
		tar -C "$sources" --exclude=.git --exclude='*.o' --exclude='*.so' \
			--exclude='*.d' --exclude='*.bc' --exclude=./bench/results -cf - . |
		tar -C "$root/build" --no-same-owner -xf - || return
	if ! make -C "$root/build" -j"$(nproc)" with_llvm=no \
			PG_CONFIG="$SERVER_PG_CONFIG" >"$log" 2>&1 ||
		! make -C "$root/build" with_llvm=no PG_CONFIG="$SERVER_PG_CONFIG" \
			DESTDIR="$root" install >>"$log" 2>&1; then
		# The commands themselves are long and say little.
		grep -v "^[a-z]*cc " "$log" | tail -n 20 >&2
		server_fail "the extension does not build; the end of make's output is above"
	fi
}

server_init() {
	local root=$1 name=$2

	mkdir -p "$root/$name.socket" || return
	if [ "$(id -u)" -eq 0 ]; then
		chown "$(server_account)" "$root/$name.socket" || return
	fi
	chmod 700 "$root/$name.socket"
	# The account must be able to write its log and data below ROOT.
	server_as "$root$SERVER_BIN/initdb" -D "$root/$name" -U postgres -A trust \
		-E UTF8 --locale=C.UTF-8 --no-sync >"$root/$name.initdb.log" 2>&1 || {
		tail -n 5 "$root/$name.initdb.log" >&2
		server_fail "initdb failed"
	}
}

server_start() {
	local root=$1 name=$2
	shift 2

	{
		printf "listen_addresses = ''\n"
		printf "unix_socket_directories = '%s'\n" "$root/$name.socket"
		printf '%s\n' "$@"
	} | server_as tee -a "$root/$name/postgresql.auto.conf" >/dev/null || return
	# In a session of its own, so that Ctrl-C cannot end pg_ctl between the
	# server's start and its pid file, by which server_stop finds it.
	server_as setsid -w "$root$SERVER_BIN/pg_ctl" -D "$root/$name" \
		-l "$root/$name.log" -s -w -t 120 start >/dev/null || {
		tail -n 10 "$root/$name.log" >&2
		server_fail "the server does not start; the end of its log is above"
	}
}

server_stop() {
	local root=$1 name=$2

	if [ -f "$root/$name/postmaster.pid" ]; then
		server_as "$root$SERVER_BIN/pg_ctl" -D "$root/$name" -s -m immediate \
			-w -t 60 stop >/dev/null 2>&1
	fi
	return 0
}

# Stops every server below SERVER_ROOT and removes it.
server_cleanup() {
	local status=$? pidfile

	trap '' HUP INT TERM
	if [ -n "${SERVER_CHILD:-}" ]; then
		kill "$SERVER_CHILD" 2>/dev/null
		wait "$SERVER_CHILD" 2>/dev/null
	fi
	if [ -n "${SERVER_ROOT:-}" ] && [ -z "${SERVER_KEEP:-}" ]; then
		for pidfile in "$SERVER_ROOT"/*/postmaster.pid; do
			[ -f "$pidfile" ] || continue
			pidfile=${pidfile%/postmaster.pid}
			server_stop "$SERVER_ROOT" "${pidfile##*/}"
		done
		rm -rf "$SERVER_ROOT"
	fi
	exit "$status"
}

server_scratch() {
	SERVER_ROOT=
	SERVER_CHILD=
	trap server_cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	SERVER_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/pg_toaster.XXXXXX") ||
		server_fail "cannot create a directory in ${TMPDIR:-/tmp}"
}

# A foreground command would delay our traps until it ends.
server_run() {
	local status

	"$@" <&0 &
	SERVER_CHILD=$!
	wait "$SERVER_CHILD"
	status=$?
	SERVER_CHILD=
	return "$status"
}
