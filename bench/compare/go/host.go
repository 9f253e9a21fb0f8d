// net/rpc/jsonrpc of Go's standard library as a host: host MODE SECONDS N PLUGIN…
package main

import (
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const betweenLooks = 100 // calls from one look at the clock to the next

type Message struct {
	N    int    `json:"n"`
	S    string `json:"s"`
	List []int  `json:"list"`
}

var small = Message{123, "hello world", []int{1, 2, 3}}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

type peer struct {
	client *rpc.Client
	child  *exec.Cmd
}

func open(command []string) peer {
	child := exec.Command(command[0], command[1:]...)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	check(err)
	out, err := child.StdoutPipe()
	check(err)
	check(child.Start())
	return peer{jsonrpc.NewClient(pipes{out, in}), child}
}

func (p peer) call(params *Message) {
	var answer Message
	check(p.client.Call("Peer.Echo", params, &answer))
}

func (p peer) close() {
	p.client.Close()
	p.child.Wait()
}

// Seconds for one step.
func measure(seconds float64, step func()) float64 {
	step()
	begun := time.Now()
	for count := 1; ; count++ {
		step()
		if spent := time.Since(begun).Seconds(); spent >= seconds {
			return spent / float64(count)
		}
	}
}

func sequential(p peer, seconds float64) float64 {
	return measure(seconds, func() {
		for i := 0; i < betweenLooks; i++ {
			p.call(&small)
		}
	}) / betweenLooks
}

func flight(p peer, seconds float64, depth int) float64 {
	var calls int64
	var callers sync.WaitGroup
	begun := time.Now()
	for i := 0; i < depth; i++ {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for time.Since(begun).Seconds() < seconds {
				for i := 0; i < 10; i++ {
					p.call(&small)
				}
				atomic.AddInt64(&calls, 10)
			}
		}()
	}
	callers.Wait()
	return float64(calls) / time.Since(begun).Seconds()
}

func text(p peer, seconds float64, size int) float64 {
	line := "the quick brown fox jumps over the lazy dog "
	params := Message{S: strings.Repeat(line, size/len(line)+1)[:size]}
	return float64(size) / measure(seconds, func() { p.call(&params) })
}

func start(command []string, seconds float64) float64 {
	var times []float64
	for stop := time.Now().Add(time.Duration(seconds * 1e9)); len(times) == 0 || time.Now().Before(stop); {
		begun := time.Now()
		p := open(command)
		p.call(&small)
		times = append(times, time.Since(begun).Seconds())
		p.close()
	}
	sort.Float64s(times)
	return times[len(times)/2]
}

func memory(p peer, which int) float64 {
	p.call(&small)
	debug.FreeOSMemory()
	pid := "self"
	if which == 0 {
		pid = strconv.Itoa(p.child.Process.Pid)
	}
	statm, err := os.ReadFile("/proc/" + pid + "/statm")
	check(err)
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	check(err)
	return float64(pages) * 4096 / 1e6
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	check(err)
	n, err := strconv.Atoi(os.Args[3])
	check(err)
	command := os.Args[4:]
	if os.Args[1] == "start" {
		fmt.Println(start(command, seconds))
		return
	}
	p := open(command)
	defer p.close()
	switch os.Args[1] {
	case "sequential":
		fmt.Println(sequential(p, seconds))
	case "flight":
		fmt.Println(flight(p, seconds, n))
	case "string":
		fmt.Println(text(p, seconds, n))
	case "memory":
		fmt.Println(memory(p, n))
	}
}
