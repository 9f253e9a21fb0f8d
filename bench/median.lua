-- The middle of a list of numbers, which it sorts.

---@param list number[]
---@return number
return function(list)
  table.sort(list)
  local middle = #list // 2
  if #list % 2 == 1 then return list[middle + 1] end
  return (list[middle] + list[middle + 1]) / 2
end
