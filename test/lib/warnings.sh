# shellcheck shell=bash
#
# warnings.sh: the warnings that the sources must compile without.
#
# Those that are off are what PostgreSQL's own headers and interfaces cause.
# shellcheck disable=SC2034
WARNINGS='-O2 -Wall -Wextra -Werror -Wmissing-prototypes -Wpointer-arith
	-Wdeclaration-after-statement -Wvla -Wendif-labels -Wformat-security
	-Wmissing-format-attribute -Wimplicit-fallthrough=3 -Wshadow=compatible-local
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
	-Wno-cast-function-type -fno-strict-aliasing -fwrapv'
