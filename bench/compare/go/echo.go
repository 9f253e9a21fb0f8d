// net/rpc/jsonrpc of Go's standard library as a plugin: answers every request with its params.
package main

import (
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
)

type Message struct {
	N    int    `json:"n"`
	S    string `json:"s"`
	List []int  `json:"list"`
}

type Peer struct{}

func (Peer) Echo(message Message, answer *Message) error {
	*answer = message
	return nil
}

type stdio struct {
	io.Reader
	io.WriteCloser
}

func main() {
	if err := rpc.Register(Peer{}); err != nil {
		panic(err)
	}
	jsonrpc.ServeConn(stdio{os.Stdin, os.Stdout})
}
