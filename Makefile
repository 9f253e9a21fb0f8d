# Builds the C core as $(BUILD)/pintle/core.so. One word makes a variant, each in a folder of its own:
#   make             build
#   make SANITIZE=1  build/sanitize, with a bin/lua5.4 that brings the sanitizers' runtime (clang, Linux)
#   make COVERAGE=1  build/coverage
# WERROR=1 makes warnings errors; CC, CFLAGS, LDFLAGS and BUILD are yours.

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
ifndef LUA_CFLAGS
  LUA_CFLAGS := $(shell export PKG_CONFIG_PATH="$$PKG_CONFIG_PATH:$(KEG)"; \
    for lua in lua5.4 lua-5.4 lua54 lua; do \
      pkg-config --cflags "$$lua >= 5.4" "$$lua < 5.5" 2>/dev/null && break; \
    done)
endif

CORE := $(BUILD)/pintle/core.so
OBJECTS := $(patsubst csrc/%.c,$(BUILD)/obj/%.o,$(wildcard csrc/*.c))

all: $(CORE)

$(CORE): $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(SHARED) $(VARIANT) $(LDFLAGS) -o $@ $(OBJECTS)

$(BUILD)/obj/%.o: csrc/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(OPTIMIZE) -fPIC $(WARN) $(VARIANT) $(LUA_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

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

.PHONY: all headers clean
