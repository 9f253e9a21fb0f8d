# Times ruby-liquid: worker.rb PHASE TEMPLATE DATA SECONDS, as worker.lua.
# worker.rb serve speaks the JSON-RPC protocol of Liquid on stdin and stdout, as far as bench/liquid/large.lua needs it.
require "json"
require "liquid"

# It looks for no markers in the environment, which a server of the whole protocol has to do.
class Server
  def initialize = @templates = []

  def compile(params)
    files = params["filesystem"] || {}
    files.define_singleton_method(:read_template_file) { |name| fetch(name) }
    @templates << [Liquid::Template.parse(params["template"]), files]
    { template_id: (@templates.size - 1).to_s }
  end

  def render(params)
    template, files = @templates[params["template_id"].to_i]
    output = template.render(params["environment"] || {}, registers: { file_system: files })
    { output: output, errors: template.errors.map(&:message) }
  end

  def serve
    $stdout.sync = true
    while (line = $stdin.gets)
      request = JSON.parse(line)
      result = public_send(request["method"], request["params"])
      $stdout.write(JSON.generate({ jsonrpc: "2.0", id: request["id"], result: result }), "\n")
    end
  end
end

if ARGV[0] == "serve"
  Server.new.serve
  exit
end

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
