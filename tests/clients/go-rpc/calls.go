package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1/adhocprofilesv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1/capabilitiesv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/debuginfo/v1alpha1/debuginfov1alpha1connect"
	_ "github.com/grafana/pyroscope/api/gen/proto/go/ingester/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/metastore/v1/metastorev1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	_ "github.com/grafana/pyroscope/api/gen/proto/go/query/v1"
	_ "github.com/grafana/pyroscope/api/gen/proto/go/segmentwriter/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/settings/v1/settingsv1connect"
	_ "github.com/grafana/pyroscope/api/gen/proto/go/storegateway/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/vcs/v1/vcsv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/version/v1/versionv1connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"
)

// call makes one call: protojson in, the decoded message out.
type call func(ctx context.Context, request []byte) (proto.Message, error)

// typed makes a call of a method of a typed client.
func typed[Request, Reply any](method func(context.Context, *connect.Request[Request]) (*connect.Response[Reply], error)) call {
	return func(ctx context.Context, request []byte) (proto.Message, error) {
		message := new(Request)
		if err := protojson.Unmarshal(request, any(message).(proto.Message)); err != nil {
			return nil, fmt.Errorf("the test's own request: %w", err)
		}
		reply, err := method(ctx, connect.NewRequest(message))
		if err != nil {
			return nil, err
		}
		return any(reply.Msg).(proto.Message), nil
	}
}

// typedCalls are the methods for which the module has a client that people use; the rest of it is for Pyroscope's own parts.
func typedCalls(http *http.Client, url string, options []connect.ClientOption) map[string]call {
	push := pushv1connect.NewPusherServiceClient(http, url, options...)
	querier := querierv1connect.NewQuerierServiceClient(http, url, options...)
	settings := settingsv1connect.NewSettingsServiceClient(http, url, options...)
	rules := settingsv1connect.NewRecordingRulesServiceClient(http, url, options...)
	adHoc := adhocprofilesv1connect.NewAdHocProfileServiceClient(http, url, options...)
	version := versionv1connect.NewVersionClient(http, url, options...)
	flags := capabilitiesv1connect.NewFeatureFlagsServiceClient(http, url, options...)
	tenants := metastorev1connect.NewTenantServiceClient(http, url, options...)
	vcs := vcsv1connect.NewVCSServiceClient(http, url, options...)
	debugInfo := debuginfov1alpha1connect.NewDebuginfoServiceClient(http, url, options...)
	return map[string]call{
		pushv1connect.PusherServicePushProcedure: typed(push.Push),

		querierv1connect.QuerierServiceProfileTypesProcedure:           typed(querier.ProfileTypes),
		querierv1connect.QuerierServiceLabelValuesProcedure:            typed(querier.LabelValues),
		querierv1connect.QuerierServiceLabelNamesProcedure:             typed(querier.LabelNames),
		querierv1connect.QuerierServiceSeriesProcedure:                 typed(querier.Series),
		querierv1connect.QuerierServiceSelectMergeStacktracesProcedure: typed(querier.SelectMergeStacktraces),
		querierv1connect.QuerierServiceSelectMergeSpanProfileProcedure: typed(querier.SelectMergeSpanProfile),
		querierv1connect.QuerierServiceSelectMergeProfileProcedure:     typed(querier.SelectMergeProfile),
		querierv1connect.QuerierServiceSelectSeriesProcedure:           typed(querier.SelectSeries),
		querierv1connect.QuerierServiceSelectHeatmapProcedure:          typed(querier.SelectHeatmap),
		querierv1connect.QuerierServiceDiffProcedure:                   typed(querier.Diff),
		querierv1connect.QuerierServiceGetProfileStatsProcedure:        typed(querier.GetProfileStats),
		querierv1connect.QuerierServiceAnalyzeQueryProcedure:           typed(querier.AnalyzeQuery),

		settingsv1connect.SettingsServiceGetProcedure:    typed(settings.Get),
		settingsv1connect.SettingsServiceSetProcedure:    typed(settings.Set),
		settingsv1connect.SettingsServiceDeleteProcedure: typed(settings.Delete),

		settingsv1connect.RecordingRulesServiceGetRecordingRuleProcedure:    typed(rules.GetRecordingRule),
		settingsv1connect.RecordingRulesServiceListRecordingRulesProcedure:  typed(rules.ListRecordingRules),
		settingsv1connect.RecordingRulesServiceUpsertRecordingRuleProcedure: typed(rules.UpsertRecordingRule),
		settingsv1connect.RecordingRulesServiceDeleteRecordingRuleProcedure: typed(rules.DeleteRecordingRule),

		adhocprofilesv1connect.AdHocProfileServiceUploadProcedure: typed(adHoc.Upload),
		adhocprofilesv1connect.AdHocProfileServiceGetProcedure:    typed(adHoc.Get),
		adhocprofilesv1connect.AdHocProfileServiceListProcedure:   typed(adHoc.List),
		adhocprofilesv1connect.AdHocProfileServiceDiffProcedure:   typed(adHoc.Diff),

		versionv1connect.VersionVersionProcedure:                          typed(version.Version),
		capabilitiesv1connect.FeatureFlagsServiceGetFeatureFlagsProcedure: typed(flags.GetFeatureFlags),

		metastorev1connect.TenantServiceGetTenantsProcedure:   typed(tenants.GetTenants),
		metastorev1connect.TenantServiceGetTenantProcedure:    typed(tenants.GetTenant),
		metastorev1connect.TenantServiceDeleteTenantProcedure: typed(tenants.DeleteTenant),

		vcsv1connect.VCSServiceGithubAppProcedure:     typed(vcs.GithubApp),
		vcsv1connect.VCSServiceGithubLoginProcedure:   typed(vcs.GithubLogin),
		vcsv1connect.VCSServiceGithubRefreshProcedure: typed(vcs.GithubRefresh),
		vcsv1connect.VCSServiceGetFileProcedure:       typed(vcs.GetFile),
		vcsv1connect.VCSServiceGetCommitProcedure:     typed(vcs.GetCommit),
		vcsv1connect.VCSServiceGetCommitsProcedure:    typed(vcs.GetCommits),

		debuginfov1alpha1connect.DebuginfoServiceShouldInitiateUploadProcedure: typed(debugInfo.ShouldInitiateUpload),
		debuginfov1alpha1connect.DebuginfoServiceUploadFinishedProcedure:       typed(debugInfo.UploadFinished),
		debuginfov1alpha1connect.DebuginfoServiceListDebuginfoProcedure:        typed(debugInfo.ListDebuginfo),
		debuginfov1alpha1connect.DebuginfoServiceDeleteDebuginfoProcedure:      typed(debugInfo.DeleteDebuginfo),
	}
}

// untyped makes a call with an empty message, for methods that have no typed client; a reply is not looked at.
func untyped(http *http.Client, url string, options []connect.ClientOption) call {
	client := connect.NewClient[emptypb.Empty, emptypb.Empty](http, url, options...)
	return func(ctx context.Context, request []byte) (proto.Message, error) {
		reply, err := client.CallUnary(ctx, connect.NewRequest(&emptypb.Empty{}))
		if err != nil {
			return nil, err
		}
		return reply.Msg, nil
	}
}

func answerCalls(http *http.Client, url string, options []connect.ClientOption) error {
	calls := typedCalls(http, url, options)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Method  string
			Request json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		make, known := calls["/"+line.Method]
		if !known {
			make = untyped(http, url+"/"+line.Method, options)
		}
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		reply, err := make(ctx, line.Request)
		stop()
		if err != nil {
			err = print(map[string]any{"code": connect.CodeOf(err).String(), "message": err.Error()})
		} else {
			var text []byte
			if text, err = protojson.Marshal(reply); err == nil {
				err = print(map[string]any{"code": "ok", "reply": json.RawMessage(text)})
			}
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// listMethods prints every method of Pyroscope's packages that the module brings, by its descriptors.
func listMethods(http *http.Client, url string, options []connect.ClientOption) error {
	calls := typedCalls(http, url, options)
	type method struct {
		Name  string `json:"name"`
		Typed bool   `json:"typed"`
	}
	methods := []method{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(file.Package()), "grpc.") {
			return true
		}
		for at := range file.Services().Len() {
			service := file.Services().Get(at)
			for at := range service.Methods().Len() {
				name := fmt.Sprintf("%s/%s", service.FullName(), service.Methods().Get(at).Name())
				_, typed := calls["/"+name]
				methods = append(methods, method{name, typed})
			}
		}
		return true
	})
	sort.Slice(methods, func(left, right int) bool { return methods[left].Name < methods[right].Name })
	return print(methods)
}
