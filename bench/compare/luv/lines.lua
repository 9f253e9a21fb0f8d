-- Lines out of pieces of text: what is fed to the function that is returned, `on_line` gets line by line.

return function(on_line)
  local pieces = {}
  return function(data)
    local at = 1
    for line_end in data:gmatch "()\n" do
      pieces[#pieces + 1] = data:sub(at, line_end - 1)
      local line = table.concat(pieces)
      pieces, at = {}, line_end + 1
      on_line(line)
    end
    if at <= #data then pieces[#pieces + 1] = data:sub(at) end
  end
end
