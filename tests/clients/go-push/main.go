// Command go-push does known work and sends its own profiles with Pyroscope's Go SDK, unchanged, until its standard input
// ends: CPU in burnHot under the label region=north and, a fifth as much, in serveOrder under the ids of two spans, 32 MiB
// held by openAccounts, allocations of renderInvoice, waits for a lock in bookEntry and for a channel in waitForReceipt,
// eight goroutines parked in acceptOrders.
//
//	go-push URL SERVICE
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go"
)

var (
	sink     atomic.Uint64
	accounts [][]byte
	invoice  []byte
	ledger   sync.Mutex
)

// burnHot is where nearly all of the time goes.
//
//go:noinline
func burnHot(length time.Duration) {
	x := uint64(88172645463325252)
	for until := time.Now().Add(length); time.Now().Before(until); {
		for range 1 << 16 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
	}
	sink.Store(x)
}

// serveOrder works for a span. It calls nothing that would be hotter than itself.
//
//go:noinline
func serveOrder(length time.Duration) {
	x := uint64(1)
	for until := time.Now().Add(length); time.Now().Before(until); {
		for range 1 << 16 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink.Store(x)
}

//go:noinline
func openAccounts() {
	for range 32 {
		accounts = append(accounts, make([]byte, 1<<20))
	}
}

//go:noinline
func renderInvoice() { invoice = make([]byte, 1<<20) }

// bookEntry holds the lock long enough for the other one to wait; waits are charged to whoever gives the lock back.
//
//go:noinline
func bookEntry() {
	ledger.Lock()
	time.Sleep(2 * time.Millisecond)
	ledger.Unlock()
}

//go:noinline
func waitForReceipt(receipts <-chan struct{}) { <-receipts }

//go:noinline
func acceptOrders(stop <-chan struct{}) { <-stop }

// repeat calls the work until the end.
func repeat(stop <-chan struct{}, work func()) {
	for {
		select {
		case <-stop:
			return
		default:
			work()
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go-push URL SERVICE")
		os.Exit(2)
	}
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: os.Args[2],
		ServerAddress:   os.Args[1],
		UploadRate:      time.Second,
		Logger:          errors{},
		Tags:            map[string]string{"client": "pyroscope-go", "k8s.pod.name": "bank-0"},
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU,
			pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileGoroutines,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	openAccounts()
	stop := make(chan struct{})
	for range 8 {
		go acceptOrders(stop)
	}
	for range 2 {
		go repeat(stop, bookEntry)
	}
	receipts := make(chan struct{})
	go repeat(stop, func() { waitForReceipt(receipts) })
	go repeat(stop, func() {
		time.Sleep(5 * time.Millisecond)
		renderInvoice()
		select {
		case receipts <- struct{}{}:
		case <-stop:
		}
	})
	go repeat(stop, func() {
		pyroscope.TagWrapper(context.Background(), pyroscope.Labels("region", "north"), func(context.Context) {
			burnHot(50 * time.Millisecond)
		})
	})
	// As tracing libraries mark what runs within a span.
	spans := []string{"00f067aa0ba902b7", "00f067aa0ba902b8"}
	go repeat(stop, func() {
		for _, span := range spans {
			labels := pyroscope.Labels("span_id", span, "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "region", "east")
			pyroscope.TagWrapper(context.Background(), labels, func(context.Context) {
				serveOrder(10 * time.Millisecond)
			})
			time.Sleep(40 * time.Millisecond)
		}
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := profiler.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// errors prints what the SDK would say of refused uploads.
type errors struct{}

func (errors) Infof(string, ...any)  {}
func (errors) Debugf(string, ...any) {}
func (errors) Errorf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}
