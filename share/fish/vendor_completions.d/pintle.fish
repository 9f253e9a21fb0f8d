# Completion of pintle for fish; written by `pintle completion fish`.

# __pintle_at COMMAND [PLACE]: whether the cursor is there; PLACE is + for behind the first word.
function __pintle_at
    set -l command ''
    set -l place 0
    set -l is_value false
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $is_value = true
            set is_value false
            continue
        end
        switch "$command:$word"
            case 'inspect:-d' 'inspect:--dialect' 'inspect:--config' 'inspect:--patience' 'inspect:--log' 'call:--args' 'call:-t' 'call:--timeout' 'call:-d' 'call:--dialect' 'call:--config' 'call:--patience' 'call:--log' 'check:-d' 'check:--dialect' 'check:--run' 'check:--args' 'check:--config' 'check:--root' 'check:--only' 'check:-t' 'check:--timeout' 'check:--patience' 'bench:--args' 'bench:--method' 'bench:--params' 'bench:-n' 'bench:--calls' 'bench:--seconds' 'bench:-k' 'bench:--in-flight' 'bench:--warm-up' 'bench:-t' 'bench:--timeout' 'bench:-d' 'bench:--dialect' 'bench:--config' 'bench:--patience' 'bench:--log' 'run:-d' 'run:--dialect' 'run:-t' 'run:--timeout' 'run:--patience' 'run:--log' 'new:-d' 'new:--dialect' 'trace:-o' 'trace:--output' 'show:-m' 'show:--method' 'show:-w' 'show:--width' 'view:-o' 'view:--output' 'view:-t' 'view:--title' 'view:--payload' 'replay:--as' 'replay:-i' 'replay:--ignore' 'replay:-t' 'replay:--timeout'
                set is_value true
            case '*:-*'
            case ':*'
                set command $word
            case '*'
                set place (math $place + 1)
                contains -- $command inspect call check bench trace; and break
        end
    end
    test "$command" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test "$argv[2]" = '+'; and test $place -gt 0; and return 0
    test "$argv[2]" = $place
end

complete -c pintle -f

complete -c pintle -n '__pintle_at \'\'' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at \'\'' -l version -d 'Show the version and end'
complete -c pintle -n "__pintle_at ''" -a help -d 'Show help for commands'
complete -c pintle -n "__pintle_at ''" -a inspect -d 'Start a plugin, and show who it is and what it offers'
complete -c pintle -n "__pintle_at ''" -a call -d 'Run one operation of a plugin'
complete -c pintle -n "__pintle_at ''" -a check -d 'Find out whether a plugin keeps to its protocol'
complete -c pintle -n "__pintle_at ''" -a bench -d 'Measure how long the calls of a plugin take'
complete -c pintle -n "__pintle_at ''" -a run -d 'Start the plugins in a directory, and run their operations from a prompt'
complete -c pintle -n "__pintle_at ''" -a new -d 'Begin a plugin: a directory with one that runs, and its spec'
complete -c pintle -n "__pintle_at ''" -a trace -d 'Stand between a host and a plugin, and record what they say'
complete -c pintle -n "__pintle_at ''" -a show -d 'Print what was recorded, readably'
complete -c pintle -n "__pintle_at ''" -a view -d 'Make a page of what was recorded, for a browser'
complete -c pintle -n "__pintle_at ''" -a replay -d 'Play the plugin of a recording, or its host, and compare the other side'
complete -c pintle -n "__pintle_at ''" -a doctor -d 'Tell what is installed, what is missing, and what that means'
complete -c pintle -n "__pintle_at ''" -a completion -d 'Print what a shell needs to complete the words of pintle'
complete -c pintle -n "__pintle_at ''" -a manual -d 'Print the manual page, as `man -l` takes it'

complete -c pintle -n '__pintle_at help' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at help 0' -x -a 'help inspect call check bench run new trace show view replay doctor completion manual'

complete -c pintle -n '__pintle_at inspect 0' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at inspect 0' -l json -d 'Print it for programs to read'
complete -c pintle -n '__pintle_at inspect 0' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol it speaks; without it all that pintle knows are tried'
complete -c pintle -n '__pintle_at inspect 0' -l config -x -d 'What it is configured with, as JSON'
complete -c pintle -n '__pintle_at inspect 0' -l patience -x -d 'How long it may take to start, such as 30s'
complete -c pintle -n '__pintle_at inspect 0' -l log -x -a 'debug info warn error silent' -d 'The lowest level of what it says that is shown on stderr'
complete -c pintle -n '__pintle_at inspect 0' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at inspect +' -F

complete -c pintle -n '__pintle_at call 0' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at call 0' -l args -x -d 'All arguments at once, as a JSON object'
complete -c pintle -n '__pintle_at call 0' -s t -l timeout -x -d 'How long it may take, such as 1m30s; 60s unless told'
complete -c pintle -n '__pintle_at call 0' -l json -d 'Print the outcome, or the error, for programs to read'
complete -c pintle -n '__pintle_at call 0' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol it speaks; without it all that pintle knows are tried'
complete -c pintle -n '__pintle_at call 0' -l config -x -d 'What it is configured with, as JSON'
complete -c pintle -n '__pintle_at call 0' -l patience -x -d 'How long it may take to start, such as 30s'
complete -c pintle -n '__pintle_at call 0' -l log -x -a 'debug info warn error silent' -d 'The lowest level of what it says that is shown on stderr'
complete -c pintle -n '__pintle_at call 0' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at call +' -F

complete -c pintle -n '__pintle_at check 0' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at check 0' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol it speaks; without it all that pintle knows are tried'
complete -c pintle -n '__pintle_at check 0' -l run -x -d 'An operation that may be run'
complete -c pintle -n '__pintle_at check 0' -l args -x -d 'The arguments of that operation, as a JSON object'
complete -c pintle -n '__pintle_at check 0' -l config -x -d 'What the plugin is configured with, as JSON'
complete -c pintle -n '__pintle_at check 0' -l root -x -a '(__fish_complete_directories (commandline -ct))' -d 'The workspace that a language server, or one of the editor\'s, is given'
complete -c pintle -n '__pintle_at check 0' -l only -x -d 'Only these probes; * and ? are wildcards'
complete -c pintle -n '__pintle_at check 0' -s t -l timeout -x -d 'How long each answer may take, and the end, such as 10s'
complete -c pintle -n '__pintle_at check 0' -l patience -x -d 'How long it may take to start while its dialect is found out'
complete -c pintle -n '__pintle_at check 0' -l strict -d 'Let warnings be failures'
complete -c pintle -n '__pintle_at check 0' -l list -d 'Show what plugins are probed for, and end'
complete -c pintle -n '__pintle_at check 0' -l json -d 'Print it for programs to read'
complete -c pintle -n '__pintle_at check 0' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at check +' -F

complete -c pintle -n '__pintle_at bench 0' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at bench 0' -l args -x -d 'All arguments at once, as a JSON object'
complete -c pintle -n '__pintle_at bench 0' -l method -x -d 'A method of the protocol to call, instead of an operation'
complete -c pintle -n '__pintle_at bench 0' -l params -x -d 'The params of that method'
complete -c pintle -n '__pintle_at bench 0' -s n -l calls -x -d 'How many calls; 1000 unless told, or as many as --seconds allow'
complete -c pintle -n '__pintle_at bench 0' -l seconds -x -d 'For how long, such as 10s'
complete -c pintle -n '__pintle_at bench 0' -s k -l in-flight -x -d 'How many at a time'
complete -c pintle -n '__pintle_at bench 0' -l warm-up -x -d 'How many calls come before, and do not count'
complete -c pintle -n '__pintle_at bench 0' -s t -l timeout -x -d 'How long a call may take, such as 1m30s; 60s unless told'
complete -c pintle -n '__pintle_at bench 0' -l json -d 'Print it for programs to read'
complete -c pintle -n '__pintle_at bench 0' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol it speaks; without it all that pintle knows are tried'
complete -c pintle -n '__pintle_at bench 0' -l config -x -d 'What it is configured with, as JSON'
complete -c pintle -n '__pintle_at bench 0' -l patience -x -d 'How long it may take to start, such as 30s'
complete -c pintle -n '__pintle_at bench 0' -l log -x -a 'debug info warn error silent' -d 'The lowest level of what it says that is shown on stderr'
complete -c pintle -n '__pintle_at bench 0' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at bench +' -F

complete -c pintle -n '__pintle_at run' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at run' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol they speak'
complete -c pintle -n '__pintle_at run' -s t -l timeout -x -d 'How long an operation may take, such as 1m30s; 60s unless told'
complete -c pintle -n '__pintle_at run' -l patience -x -d 'How long they may take to start, such as 30s'
complete -c pintle -n '__pintle_at run' -l log -x -a 'debug info warn error silent' -d 'The lowest level of what they say that is shown on stderr'
complete -c pintle -n '__pintle_at run' -l no-history -d 'Keep nothing of what is entered'
complete -c pintle -n '__pintle_at run 0' -x -a '(__fish_complete_directories (commandline -ct))'

complete -c pintle -n '__pintle_at new' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at new' -s d -l dialect -x -a 'editor gevals liquid lsp mcp reginald' -d 'The protocol whose needs are seen to'
complete -c pintle -n '__pintle_at new 0' -x

complete -c pintle -n '__pintle_at trace 0' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at trace 0' -s o -l output -r -F -d 'Where to record to; %p in it becomes the program\'s process id'
complete -c pintle -n '__pintle_at trace 0' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at trace +' -F

complete -c pintle -n '__pintle_at show' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at show' -s f -l follow -d 'Go on while it is written to, up to the end of the program'
complete -c pintle -n '__pintle_at show' -s m -l method -x -d 'Only messages of this method, and their answers; * and ? are wildcards'
complete -c pintle -n '__pintle_at show' -s e -l errors -d 'Only what went wrong'
complete -c pintle -n '__pintle_at show' -s l -l latency -d 'How long answers took, by method, instead of what was said'
complete -c pintle -n '__pintle_at show' -s w -l width -x -d 'Columns of a line; 0 is all of it'
complete -c pintle -n '__pintle_at show' -l json -d 'Print it for programs to read: an object a line, or one list of latencies'
complete -c pintle -n '__pintle_at show 0' -r -F

complete -c pintle -n '__pintle_at view' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at view' -s o -l output -r -F -d 'Where to write the page; - is stdout'
complete -c pintle -n '__pintle_at view' -s t -l title -x -d 'The title of the page'
complete -c pintle -n '__pintle_at view' -l payload -x -d 'Bytes of each text that are in the page; 0 is all of it'
complete -c pintle -n '__pintle_at view 0' -r -F

complete -c pintle -n '__pintle_at replay' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at replay' -l as -x -a 'plugin host' -d 'Which side to play'
complete -c pintle -n '__pintle_at replay' -s i -l ignore -x -d 'What may differ, as a JSON pointer in which * and ? are wildcards, such as /params/processId'
complete -c pintle -n '__pintle_at replay' -s t -l timeout -x -d 'How long to wait for the next message'
complete -c pintle -n '__pintle_at replay' -l json -d 'Print the report for programs to read'
complete -c pintle -n '__pintle_at replay 0' -r -F
complete -c pintle -n '__pintle_at replay 1' -x -a '(__fish_complete_command)'
complete -c pintle -n '__pintle_at replay +' -F

complete -c pintle -n '__pintle_at doctor' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at doctor' -l json -d 'Print it for programs to read'

complete -c pintle -n '__pintle_at completion' -s h -l help -d 'Show this help message and exit'
complete -c pintle -n '__pintle_at completion 0' -x -a 'bash fish zsh'

complete -c pintle -n '__pintle_at manual' -s h -l help -d 'Show this help message and exit'
