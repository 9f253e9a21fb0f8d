# Times ruby-liquid: worker.rb PHASE TEMPLATE DATA SECONDS, as worker.lua.
require "json"
require "liquid"

phase, name, data_path, seconds = ARGV
directory = File.join(__dir__, "templates")
SOURCES = %w[product table partials section heading block link filters].to_h do |file|
  [file, File.read(File.join(directory, "#{file}.liquid"))]
end

class Files
  def read_template_file(name) = SOURCES.fetch(name)
end

Liquid::Template.file_system = Files.new
parses = %w[parse again].include?(phase)
DATA_SET = parses ? {} : JSON.parse(File.read(data_path))
PARTIALS = name == "partials" ? %w[section heading block link] : []

parse = lambda do |texts|
  template = Liquid::Template.parse(texts[name])
  PARTIALS.each { |partial| Liquid::Template.parse(texts[partial]) }
  template
end

# The same templates with other names of variables, as many as worker.lua has.
variants = (1..(phase == "parse" ? 4001 : 0)).map do |i|
  SOURCES.slice(name, *PARTIALS).transform_values { |text| text.gsub(/\b([a-z]+)(?=[.|}])/, "\\1_#{i}") }
end
last = -1
parse_next = -> { parse.call(variants[last = (last + 1) % variants.size]) }
again = -> { parse.call(SOURCES) }

TEMPLATE = parse.call(SOURCES)
# Partials are parsed once, as in the other engines.
CACHE = {}
render = lambda do
  registers = Liquid::Registers.new({ cached_partials: CACHE, file_system: Liquid::Template.file_system })
  TEMPLATE.render(Liquid::Context.build(static_environments: DATA_SET, registers: registers))
end

def microseconds(work, limit)
  count = 0
  started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  loop do
    work.call
    count += 1
    spent = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started
    return spent / count * 1e6 if spent >= limit
  end
end

case phase
when "output" then print render.call
when "memory"
  300.times { render.call }
  puts File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1]
else
  work = { "parse" => parse_next, "again" => again, "render" => render }.fetch(phase)
  microseconds(work, seconds.to_f / 2)
  puts format("%.3f", microseconds(work, seconds.to_f))
end
