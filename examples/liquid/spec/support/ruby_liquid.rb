# Renders templates with ruby-liquid: a JSON object a line in, a JSON string a line out; null where it does not parse.
require "json"
require "liquid"

class Files
  def initialize(files) = @files = files
  def read_template_file(name) = @files.fetch(name) { raise Liquid::FileSystemError, "Could not find asset #{name}" }
end

ENV["TZ"] = "UTC"
$stdin.each_line do |line|
  request = JSON.parse(line)
  begin
    template = Liquid::Template.parse(request["template"], error_mode: request["mode"].to_sym, line_numbers: true)
    registers = { file_system: Files.new(request["files"] || {}) }
    context = Liquid::Context.build(static_environments: request["environment"], registers: registers)
    puts JSON.generate(template.render(context))
  rescue Liquid::SyntaxError
    puts "null"
  rescue StandardError => e
    puts JSON.generate("#{e.class}: #{e.message}")
  end
  $stdout.flush
end
