// Command go-push burns CPU in one known function and sends its own profile with Pyroscope's Go SDK, unchanged.
//
//	go-push URL SERVICE SECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/grafana/pyroscope-go"
)

var sink uint64

// burnHot is where nearly all of the time goes.
//
//go:noinline
func burnHot(until time.Time) {
	x := uint64(88172645463325252)
	for time.Now().Before(until) {
		for range 1 << 16 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	}
	sink = x
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go-push URL SERVICE SECONDS")
		os.Exit(2)
	}
	seconds, err := strconv.Atoi(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: os.Args[2],
		ServerAddress:   os.Args[1],
		UploadRate:      time.Second,
		Tags:            map[string]string{"client": "pyroscope-go"},
		ProfileTypes:    []pyroscope.ProfileType{pyroscope.ProfileCPU, pyroscope.ProfileAllocSpace, pyroscope.ProfileInuseSpace, pyroscope.ProfileGoroutines},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	burnHot(time.Now().Add(time.Duration(seconds) * time.Second))
	if err := profiler.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
