// Command go-rpc talks to a server with Pyroscope's published typed client, unchanged, and prints what it got as JSON.
//
//	go-rpc -url URL -protocol connect|json|grpc|grpcweb push -service NAME -file PPROF [-pad BYTES]
//	go-rpc -url URL -protocol … query -service NAME -type TYPE
//	go-rpc -url URL -protocol … services -file PPROF
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
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
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
		case "query":
			err = query(querierv1connect.NewQuerierServiceClient(http, *url, options...), flag.Args()[1:])
		case "services":
			err = services(http, *url, options, flag.Args()[1:])
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

// query makes the seven calls over the last hour.
func query(client querierv1connect.QuerierServiceClient, args []string) error {
	flags := flag.NewFlagSet("query", flag.ExitOnError)
	service := flags.String("service", "", "service_name")
	profileType := flags.String("type", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "profile type")
	from := flags.Int64("from", time.Now().Add(-time.Hour).UnixMilli(), "start of the range, ms")
	until := flags.Int64("until", time.Now().UnixMilli(), "end of the range, ms")
	flags.Parse(args)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	selector := fmt.Sprintf("{service_name=%q}", *service)
	answer := map[string]any{}

	types, err := client.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: *from, End: *until}))
	if err != nil {
		return fmt.Errorf("ProfileTypes: %w", err)
	}
	ids := []string{}
	for _, found := range types.Msg.ProfileTypes {
		ids = append(ids, found.ID)
	}
	answer["profile_types"] = ids

	names, err := client.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: []string{selector}, Start: *from, End: *until}))
	if err != nil {
		return fmt.Errorf("LabelNames: %w", err)
	}
	answer["label_names"] = names.Msg.Names

	values, err := client.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{Name: "service_name", Start: *from, End: *until}))
	if err != nil {
		return fmt.Errorf("LabelValues: %w", err)
	}
	answer["label_values"] = values.Msg.Names

	series, err := client.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{
		LabelNames: []string{"service_name", "__profile_type__"}, Start: *from, End: *until,
	}))
	if err != nil {
		return fmt.Errorf("Series: %w", err)
	}
	sets := []map[string]string{}
	for _, set := range series.Msg.LabelsSet {
		labels := map[string]string{}
		for _, pair := range set.Labels {
			labels[pair.Name] = pair.Value
		}
		sets = append(sets, labels)
	}
	answer["series"] = sets

	merged, err := client.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: *profileType, LabelSelector: selector, Start: *from, End: *until,
	}))
	if err != nil {
		return fmt.Errorf("SelectMergeStacktraces: %w", err)
	}
	self, err := selfValues(merged.Msg.Flamegraph)
	if err != nil {
		return err
	}
	answer["flame_total"], answer["flame_self"] = merged.Msg.Flamegraph.Total, self

	profile, err := client.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{
		ProfileTypeID: *profileType, LabelSelector: selector, Start: *from, End: *until,
	}))
	if err != nil {
		return fmt.Errorf("SelectMergeProfile: %w", err)
	}
	answer["pprof_total"], answer["pprof_self"] = leaves(profile.Msg)

	points, err := client.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
		ProfileTypeID: *profileType, LabelSelector: selector, Start: *from, End: *until, Step: 15, GroupBy: []string{"service_name"},
	}))
	if err != nil {
		return fmt.Errorf("SelectSeries: %w", err)
	}
	sum, groups := 0.0, []string{}
	for _, group := range points.Msg.Series {
		for _, pair := range group.Labels {
			groups = append(groups, pair.Name+"="+pair.Value)
		}
		for _, point := range group.Points {
			if (point.Timestamp-*from)%15000 != 0 {
				return fmt.Errorf("SelectSeries: point at %d is not on the grid from %d", point.Timestamp, *from)
			}
			sum += point.Value
		}
	}
	answer["points_sum"], answer["groups"] = sum, groups
	return print(answer)
}

// selfValues decodes the levels as Grafana does and adds up each name's own value.
func selfValues(flame *querierv1.FlameGraph) (map[string]int64, error) {
	self := map[string]int64{}
	for level, row := range flame.Levels {
		if len(row.Values)%4 != 0 {
			return nil, fmt.Errorf("level %d has %d numbers", level, len(row.Values))
		}
		end := int64(0)
		for at := 0; at < len(row.Values); at += 4 {
			start := end + row.Values[at]
			end = start + row.Values[at+1]
			if start < 0 || end > flame.Total {
				return nil, fmt.Errorf("level %d leaves the graph: %d to %d of %d", level, start, end, flame.Total)
			}
			self[flame.Names[row.Values[at+3]]] += row.Values[at+2]
		}
	}
	return self, nil
}

// leaves adds up a one-column profile by the function at the leaf.
func leaves(profile *googlev1.Profile) (int64, map[string]int64) {
	functions := map[uint64]string{}
	for _, function := range profile.Function {
		functions[function.Id] = profile.StringTable[function.Name]
	}
	locations := map[uint64]string{}
	for _, location := range profile.Location {
		if len(location.Line) > 0 {
			locations[location.Id] = functions[location.Line[0].FunctionId]
		}
	}
	total, self := int64(0), map[string]int64{}
	for _, sample := range profile.Sample {
		total += sample.Value[0]
		if len(sample.LocationId) > 0 {
			self[locations[sample.LocationId[0]]] += sample.Value[0]
		}
	}
	return total, self
}
