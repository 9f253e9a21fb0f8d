-- The version of what this is part of, as its rockspec has it: "scm" between releases.

return "scm"
