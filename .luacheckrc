std = "lua54"
max_line_length = 120
include_files = { "**/*.lua", "**/*.rockspec", "bin/*", "examples/liquid/script/*", "**/.busted", ".luacheckrc" }
exclude_files = { "build" }

files["spec"].std = "+busted"
files["examples/liquid/spec"].std = "+busted"

-- Declarations for the language server: nothing there runs, so nothing is used.
files["lua/pintle/_meta"].unused = false
files["lua/pintle/_meta"].unused_args = false
