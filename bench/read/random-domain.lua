-- A request for a random domain each time. Arguments: how many domains there are, and a file with the
-- GraphQL body to POST, in which the name of the first domain stands for the one to ask for.
--
-- All names are of one length, so that the request is formatted once and only the name is put in.

local PLACE = "d0000001.example"
local count, before, after

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

function setup(thread)
  seed = (seed or os.time()) + 7919
  thread:set("seed", seed)
end

function init(args)
  math.randomseed(seed)
  count = tonumber(args[1])
  local text
  if args[2] then
    local headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json" }
    text = wrk.format("POST", wrk.path, headers, read(args[2]))
  else
    text = wrk.format("GET", wrk.path .. PLACE)
  end
  local from, to = string.find(text, PLACE, 1, true)
  before, after = string.sub(text, 1, from - 1), string.sub(text, to + 1)
end

function request()
  return before .. string.format("d%07d.example", math.random(count)) .. after
end
