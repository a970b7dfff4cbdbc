// Command go-scraped serves its own profiles over TCP and over a unix socket, as any Go service with net/http/pprof does,
// with the handlers of fgprof and of the delta profiler beside it. It burns CPU in one known function and allocates in
// another when it is told to.
//
//	go-scraped SOCKET
//
// Prints the address of the TCP listener. Ends when stdin ends.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/felixge/fgprof"
	_ "github.com/grafana/pyroscope-go/godeltaprof/http/pprof"
)

var (
	sink uint64
	mu   sync.Mutex
	kept [][]byte
)

// burnHot is where nearly all of the CPU time goes.
//
//go:noinline
func burnHot() {
	x := uint64(88172645463325252)
	for range 1 << 16 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink = x
}

// allocateKnown keeps a mebibyte.
//
//go:noinline
func allocateKnown() []byte {
	return make([]byte, 1<<20)
}

// waitForLock contends with itself, so that there is something in the mutex and block profiles.
//
//go:noinline
func waitForLock(lock *sync.Mutex) {
	lock.Lock()
	time.Sleep(time.Millisecond)
	lock.Unlock()
}

func allocate(writer http.ResponseWriter, request *http.Request) {
	count, err := strconv.Atoi(request.URL.Query().Get("mebibytes"))
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	mu.Lock()
	for range count {
		kept = append(kept, allocateKnown())
	}
	mu.Unlock()
	// Profiles of memory are as of the last collection but one.
	runtime.GC()
	runtime.GC()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go-scraped SOCKET")
		os.Exit(2)
	}
	// Every allocation of a mebibyte is seen, and next to nothing else, so that taking profiles costs little.
	runtime.MemProfileRate = 32 << 10
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	http.Handle("/debug/fgprof", fgprof.Handler())
	http.HandleFunc("/allocate", allocate)
	for _, at := range []struct{ network, address string }{{"unix", os.Args[1]}, {"tcp", "127.0.0.1:0"}} {
		listener, err := net.Listen(at.network, at.address)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() { _ = http.Serve(listener, nil) }()
		if at.network == "tcp" {
			fmt.Println(listener.Addr())
		}
	}
	var lock sync.Mutex
	for range 2 {
		go func() {
			for {
				waitForLock(&lock)
			}
		}()
	}
	go func() {
		for {
			burnHot()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}
