# pg_toaster: built, installed and tested by PGXS, as every extension is.
#
#   make                     build against the server of PG_CONFIG
#   make install             install into that server
#   make installcheck        run the tests on an installed, running server
#   ./check                  run everything, on a private server
#
# test/order names the regression tests in the order in which they run.

MODULE_big = pg_toaster
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))
PGFILEDESC = "pg_toaster - large values as copy-on-write trees"

EXTENSION = pg_toaster
DATA = sql/pg_toaster--0.1.sql

REGRESS = $(shell sed -e '/^[^a-z]/d' test/order)
REGRESS_OPTS = --inputdir=test --load-extension=pg_toaster

ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --load-extension=pg_toaster

TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl

# Each object depends on the headers that it read.  In CFLAGS, not CPPFLAGS,
# since the rule for bitcode would write the same file with another target.
PG_CFLAGS = -MMD -MP
DEPENDENCIES = $(OBJS:.o=.d)

SHLIB_LINK += -llz4 -lzstd
EXTRA_CLEAN = $(DEPENDENCIES)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)

# A server that was built with JIT wants bitcode of its extensions; without
# that server's clang there is none, and nothing but inlining is lost.
server_clang := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(shell command -v $(server_clang)),)
override with_llvm = no
endif

include $(PGXS)

# No symbol of ours may be taken for one of the server's: libraries are loaded
# into one name space.  PostgreSQL 15 does not hide them itself.
ifeq ($(PORTNAME),linux)
SHLIB_LINK += -Wl,--version-script=tools/exports.map
$(shlib): tools/exports.map
endif

$(OBJS:.o=.bc): %.bc: %.o

-include $(DEPENDENCIES)

# Copying entries is the inner loop of reading and writing documents.
src/json_entries.o: CFLAGS += $(CFLAGS_VECTORIZE)
