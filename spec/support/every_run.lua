-- Setup that every run of the specs needs.
require "spec.support.closing_line"
require "spec.support.letting_go"
