-- What every run of the specs has.
require "spec.support.closing_line"
require "spec.support.letting_go"
