# Builds the C core as $(BUILD)/pintle/core.so, and the Lua modules, compiled, below $(BUILD)/lua. One word makes a
# variant, each in a folder of its own:
#   make             build
#   make SANITIZE=1  build/sanitize, with a bin/lua5.4 that brings the sanitizers' runtime (clang, Linux)
#   make COVERAGE=1  build/coverage
# WERROR=1 makes warnings errors; CC, CFLAGS, LDFLAGS, LUA and BUILD are yours.
# `make install` is for LuaRocks, which says where to: LUADIR, LIBDIR and BINDIR. The modules that it installs are
# compiled, so it installs the sources, too, in pintle/_meta, where language servers read their annotations.

BUILD := build
OPTIMIZE := -O2
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion
SHARED := -shared

ifdef SANITIZE
  CC := clang
  BUILD := build/sanitize
  OPTIMIZE := -O1 -g -fno-omit-frame-pointer
  VARIANT := -fsanitize=address,undefined -fno-sanitize-recover=all -shared-libasan
  SHARED += -Wl,-z,nodelete
endif
ifdef COVERAGE
  BUILD := build/coverage
  OPTIMIZE := -O0 -g
  VARIANT := --coverage
endif
ifdef WERROR
  WARN += -Werror
endif
ifeq ($(shell uname),Darwin)
  SHARED := -bundle -undefined dynamic_lookup
  KEG := $(shell brew --prefix lua@5.4 2>/dev/null)/lib/pkgconfig
endif
ifdef LUA_INCDIR
  LUA_CFLAGS := -I$(LUA_INCDIR)
endif
ifndef LUA_CFLAGS
  LUA_CFLAGS := $(shell export PKG_CONFIG_PATH="$$PKG_CONFIG_PATH:$(KEG)"; \
    for lua in lua5.4 lua-5.4 lua54 lua; do \
      pkg-config --cflags "$$lua >= 5.4" "$$lua < 5.5" 2>/dev/null && break; \
    done)
endif

LUA := $(or $(LUA),$(firstword $(foreach lua,lua5.4 lua-5.4 lua54 lua,$(shell command -v $(lua)))))

CORE := $(BUILD)/pintle/core.so
MODULES := $(shell find lua -type f -not -path '*/_meta/*')
COMPILED := $(BUILD)/lua/compiled
OBJECTS := $(patsubst csrc/%.c,$(BUILD)/obj/%.o,$(wildcard csrc/*.c))

all: $(CORE) $(COMPILED)

$(CORE): $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(SHARED) $(VARIANT) $(LDFLAGS) -o $@ $(OBJECTS)

$(BUILD)/obj/%.o: csrc/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(OPTIMIZE) -fPIC -fvisibility=hidden $(WARN) $(VARIANT) $(LUA_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(COMPILED): $(MODULES) script/compile
	@rm -rf $(@D)
	@mkdir -p $(sort $(dir $(MODULES:%=$(BUILD)/%)))
	@$(LUA) script/compile lua $(@D) $(MODULES)
	@touch $@

install: all
	mkdir -p "$(LIBDIR)/pintle" "$(LUADIR)/pintle" "$(BINDIR)"
	cp $(CORE) "$(LIBDIR)/pintle/core.so"
	cp -R $(BUILD)/lua/pintle/. "$(LUADIR)/pintle"
	cp -R lua/pintle/_meta "$(LUADIR)/pintle"
	cp -R lua/pintle "$(LUADIR)/pintle/_meta"
	rm -rf "$(LUADIR)/pintle/_meta/pintle/_meta" "$(LUADIR)/pintle/_meta/pintle/cli"
	cp bin/pintle "$(BINDIR)/pintle"

ifdef SANITIZE
all: $(BUILD)/bin/lua5.4

$(BUILD)/bin/lua5.4: script/sanitized-lua
	CC="$(CC)" $< $@
endif

# Succeeds when the compiler finds the headers of Lua 5.4.
headers:
	@printf '#include <lauxlib.h>\nint version[LUA_VERSION_NUM == 504 ? 1 : -1];\n' | \
	  $(CC) $(LUA_CFLAGS) $(CFLAGS) -fsyntax-only -x c -

clean:
	rm -rf build

-include $(OBJECTS:.o=.d)

.PHONY: all headers clean install
