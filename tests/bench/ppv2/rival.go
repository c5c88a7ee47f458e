// What Debian's only PROXY protocol decoder that is a library costs, beside libppv2: golang-github-pires-go-proxyproto-dev.
// Usage: rival NAME=HEX...; prints a line for each: NAME and the nanoseconds of CPU time, the collector's included, that
// decoding these bytes takes. A program of Go's reads from a bufio.Reader, which is made once here and only filled again.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"

	proxyproto "github.com/pires/go-proxyproto"
)

const rounds = 100000

func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	for _, argument := range os.Args[1:] {
		name, digits, _ := strings.Cut(argument, "=")
		header, err := hex.DecodeString(digits)
		if err != nil {
			panic(err)
		}
		source := bytes.NewReader(header)
		reader := bufio.NewReaderSize(source, 4096)
		begin := cpuTime()
		for i := 0; i < rounds; i++ {
			source.Reset(header)
			reader.Reset(source)
			if _, err := proxyproto.Read(reader); err != nil {
				panic(err)
			}
		}
		fmt.Println(name, float64(cpuTime()-begin)/rounds)
	}
}
