-- A request for a random domain each time. Variables of the environment:
--
-- DOMAINS     how many there are
-- POPULARITY  "zipf": the second most popular domain is asked for half as often as the first, the third a third
--             as often, and so on; otherwise all are asked for alike
-- BODY_FILE   the GraphQL body to POST, in which the name of the first domain stands for the one to ask for
-- TAGS_FILE   lines of a domain's name and its ETag, with a space between: only these are asked for, with the
--             ETag in If-None-Match
--
-- All names are of one length, so that the request is formatted once and only the name is put in.

local PLACE = "d0000001.example"
-- A prime, larger than the number of domains: numbers multiplied by it, modulo the count, are all of them in
-- another order. Without it the popular domains would be neighbours in the database.
local SCATTER = 1000003

function setup(thread)
  seed = (seed or os.time()) + 7919
  thread:set("seed", seed)
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function alike(count)
  return function()
    return math.random(count)
  end
end

local function zipf(count)
  -- The sums of the weights up to each rank: a random part of the whole sum belongs to one rank.
  local sums, sum = {}, 0
  for rank = 1, count do
    sum = sum + 1 / rank
    sums[rank] = sum
  end
  return function()
    local part, first, last = math.random() * sum, 1, count
    while first < last do
      local middle = math.floor((first + last) / 2)
      if sums[middle] < part then first = middle + 1 else last = middle end
    end
    return first * SCATTER % count + 1
  end
end

local function requestsWithTags(file)
  local requests = {}
  for name, tag in string.gmatch(read(file), "(%S+) (%S+)\n") do
    requests[#requests + 1] = wrk.format("GET", wrk.path .. name, { ["If-None-Match"] = tag })
  end
  return function()
    return requests[math.random(#requests)]
  end
end

local function requestsByName(number)
  local text
  if os.getenv("BODY_FILE") then
    local headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json" }
    text = wrk.format("POST", wrk.path, headers, read(os.getenv("BODY_FILE")))
  else
    text = wrk.format("GET", wrk.path .. PLACE)
  end
  local from, to = string.find(text, PLACE, 1, true)
  local before, after = string.sub(text, 1, from - 1), string.sub(text, to + 1)
  return function()
    return before .. string.format("d%07d.example", number()) .. after
  end
end

function init()
  math.randomseed(seed)
  local count = tonumber(os.getenv("DOMAINS"))
  local number = os.getenv("POPULARITY") == "zipf" and zipf(count) or alike(count)
  local tags = os.getenv("TAGS_FILE")
  request = tags and requestsWithTags(tags) or requestsByName(number)
end
