# Serves the Liquid protocol with the reference engine.
require "json"
require "liquid"

$stdout.sync = true

# One conversation. It waits for the client's answer to each of its requests.
class Conversation
  def initialize
    @templates = {}
    @last = 0
  end

  def send(message) = $stdout.puts(JSON.generate({ jsonrpc: "2.0" }.merge(message)))

  def ask(method, params)
    send(id: @last += 1, method: method, params: params)
    answer = JSON.parse($stdin.gets)
    raise "answer #{answer["id"]} to #{@last}" unless answer["id"] == @last
    failure = answer["error"] || answer["result"]["error"]
    raise Liquid::ContextError, failure["message"] if failure
    answer["result"]
  end

  def run
    while (line = $stdin.gets)
      message = JSON.parse(line)
      return if message["method"] == "quit"
      send({ id: message["id"] }.merge(answer(message["method"], message["params"])))
    end
  end

  def answer(method, params)
    case method
    when "initialize"
      { result: { version: "1.0", implementation: "ruby", liquid_version: Liquid::VERSION, features: ["core"] } }
    when "compile" then { result: compile(params) }
    when "render" then render(params)
    else { error: { code: -32601, message: "Method not found" } }
    end
  end

  def compile(params)
    options = params["options"]
    template = Liquid::Template.parse(params["template"], line_numbers: options["line_numbers"],
                                                          error_mode: (options["error_mode"] || "lax").to_sym)
    @templates["tmpl_#{@templates.size + 1}"] = [template, params["filesystem"] || {}]
    { template_id: "tmpl_#{@templates.size}" }
  rescue Liquid::SyntaxError => e
    { template_id: nil, error: { type: "syntax_error", message: e.to_s, line: e.line_number } }
  end

  def render(params)
    template, files = @templates.fetch(params["template_id"])
    options = params["options"]
    output = template.render(received(params["environment"]), registers: { file_system: Files.new(files) },
                                                              strict_variables: options["strict_variables"])
    failed = template.errors.first
    return { error: { code: -32001, message: failed.to_s, data: { type: "render_error", line: failed.line_number } } } if
      failed && options["strict_errors"]
    { result: { output: output, errors: template.errors.map do |e|
      { type: e.class.name, message: e.to_s(false), line: e.line_number }
    end } }
  end

  def received(value)
    case value
    when Array then value.map { |item| received(item) }
    when Hash then value.key?("_rpc_drop") ? Drop.new(self, value) : value.transform_values { |member| received(member) }
    else value
    end
  end
end

# An object that the client has.
class Drop < Liquid::Drop
  def initialize(conversation, marker)
    @conversation = conversation
    @id = marker["_rpc_drop"]
    super()
  end

  def invoke_drop(property) = get(property)
  alias_method :[], :invoke_drop

  def key?(_) = true

  def each(&block) = @conversation.received(@conversation.ask("drop_iterate", drop_id: @id)["items"]).each(&block)

  def to_s = get("to_s")

  private

  def get(property) = @conversation.received(@conversation.ask("drop_get", drop_id: @id, property: property)["value"])
end

# The files of one template.
class Files
  def initialize(texts) = @texts = texts

  def read_template_file(name)
    @texts[name] || @texts["#{name}.liquid"] || raise(Liquid::FileSystemError, "No such template '#{name}'")
  end
end

Conversation.new.run
