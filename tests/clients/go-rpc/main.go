// Command go-rpc talks to a server with Pyroscope's published typed client, unchanged, and prints what it got as JSON.
//
//	go-rpc -url URL -protocol connect|json|grpc|grpcweb push -service NAME -file PPROF [-pad BYTES]
//	go-rpc -url URL -protocol … calls
//	go-rpc methods
//
// calls answers each line {"method": "package.Service/Method", "request": {…}} of its standard input with a line
// {"code": "ok", "reply": {…}} or {"code": "invalid_argument", "message": "…"}; requests and replies are protojson of the
// client's own messages. methods prints every method of the module, and whether there is a typed call for it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:4040", "server")
	protocol := flag.String("protocol", "connect", "connect, json, grpc or grpcweb")
	flag.Parse()
	http, options, err := transport(*protocol)
	if err == nil && flag.NArg() > 0 {
		switch flag.Arg(0) {
		case "push":
			err = push(pushv1connect.NewPusherServiceClient(http, *url, options...), flag.Args()[1:])
		case "calls":
			err = answerCalls(http, *url, options)
		case "methods":
			err = listMethods(http, *url, options)
		default:
			err = fmt.Errorf("unknown command %q", flag.Arg(0))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func transport(protocol string) (*http.Client, []connect.ClientOption, error) {
	transport := &http.Transport{}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	switch protocol {
	case "connect":
		return client, []connect.ClientOption{connect.WithSendGzip()}, nil
	case "json":
		return client, []connect.ClientOption{connect.WithProtoJSON()}, nil
	case "grpc":
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		return client, []connect.ClientOption{connect.WithGRPC()}, nil
	case "grpcweb":
		return client, []connect.ClientOption{connect.WithGRPCWeb()}, nil
	}
	return nil, nil, fmt.Errorf("unknown protocol %q", protocol)
}

func print(value any) error { return json.NewEncoder(os.Stdout).Encode(value) }

// push sends one profile; -pad makes the message larger by a label of the request that no server keeps.
func push(client pushv1connect.PusherServiceClient, args []string) error {
	flags := flag.NewFlagSet("push", flag.ExitOnError)
	service := flags.String("service", "", "service_name")
	name := flags.String("name", "process_cpu", "profile name")
	file := flags.String("file", "", "pprof file")
	pad := flags.Int("pad", 0, "bytes of annotation that make the message large")
	flags.Parse(args)
	body, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	series := &pushv1.RawProfileSeries{
		Labels:  []*typesv1.LabelPair{{Name: "__name__", Value: *name}, {Name: "service_name", Value: *service}},
		Samples: []*pushv1.RawSample{{RawProfile: body}},
	}
	if *pad > 0 {
		series.Annotations = []*typesv1.ProfileAnnotation{{Key: "pad", Value: string(make([]byte, *pad))}}
	}
	reply, err := client.Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{series}}))
	if err != nil {
		return print(map[string]any{"code": connect.CodeOf(err).String(), "message": err.Error()})
	}
	return print(map[string]any{"code": "ok", "altered": reply.Header().Get("Everflame-Altered")})
}
