package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	adhocv1 "github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1/adhocprofilesv1connect"
	capabilitiesv1 "github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1/capabilitiesv1connect"
	settingsv1 "github.com/grafana/pyroscope/api/gen/proto/go/settings/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/settings/v1/settingsv1connect"
	vcsv1 "github.com/grafana/pyroscope/api/gen/proto/go/vcs/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/vcs/v1/vcsv1connect"
	versionv1 "github.com/grafana/pyroscope/api/gen/proto/go/version/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/version/v1/versionv1connect"
)

// services calls every method of settings, recording rules and ad hoc profiles, version and feature flags, and the methods that no server
// has to have, of which it prints the code.
func services(http *http.Client, url string, options []connect.ClientOption, args []string) error {
	flags := flag.NewFlagSet("services", flag.ExitOnError)
	file := flags.String("file", "", "pprof file")
	flags.Parse(args)
	body, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	answer := map[string]any{}
	if err := settings(ctx, settingsv1connect.NewSettingsServiceClient(http, url, options...), answer); err != nil {
		return err
	}
	if err := adHoc(ctx, adhocprofilesv1connect.NewAdHocProfileServiceClient(http, url, options...), body, answer); err != nil {
		return err
	}
	if err := rules(ctx, settingsv1connect.NewRecordingRulesServiceClient(http, url, options...), answer); err != nil {
		return err
	}
	version, err := versionv1connect.NewVersionClient(http, url, options...).Version(ctx, connect.NewRequest(&versionv1.VersionRequest{}))
	if err != nil {
		return fmt.Errorf("Version: %w", err)
	}
	answer["version"] = version.Msg.QuerierAPI
	found, err := capabilitiesv1connect.NewFeatureFlagsServiceClient(http, url, options...).GetFeatureFlags(ctx, connect.NewRequest(&capabilitiesv1.GetFeatureFlagsRequest{}))
	if err != nil {
		return fmt.Errorf("GetFeatureFlags: %w", err)
	}
	names := []string{}
	for _, one := range found.Msg.FeatureFlags {
		names = append(names, one.Name)
	}
	answer["flags"] = names
	vcs := vcsv1connect.NewVCSServiceClient(http, url, options...)
	codes := map[string]string{}
	note := func(method string, err error) { codes[method] = connect.CodeOf(err).String() }
	_, err = vcs.GithubApp(ctx, connect.NewRequest(&vcsv1.GithubAppRequest{}))
	note("GithubApp", err)
	_, err = vcs.GithubLogin(ctx, connect.NewRequest(&vcsv1.GithubLoginRequest{}))
	note("GithubLogin", err)
	_, err = vcs.GithubRefresh(ctx, connect.NewRequest(&vcsv1.GithubRefreshRequest{}))
	note("GithubRefresh", err)
	_, err = vcs.GetFile(ctx, connect.NewRequest(&vcsv1.GetFileRequest{}))
	note("GetFile", err)
	_, err = vcs.GetCommit(ctx, connect.NewRequest(&vcsv1.GetCommitRequest{}))
	note("GetCommit", err)
	_, err = vcs.GetCommits(ctx, connect.NewRequest(&vcsv1.GetCommitsRequest{}))
	note("GetCommits", err)
	answer["vcs"] = codes
	return print(answer)
}

func settings(ctx context.Context, client settingsv1connect.SettingsServiceClient, answer map[string]any) error {
	set := func(value string, modifiedAt int64) error {
		setting := &settingsv1.Setting{Name: "pluginSettings", Value: value, ModifiedAt: modifiedAt}
		_, err := client.Set(ctx, connect.NewRequest(&settingsv1.SetSettingsRequest{Setting: setting}))
		return err
	}
	if err := set("kept", 7); err != nil {
		return fmt.Errorf("Set: %w", err)
	}
	answer["stale"] = connect.CodeOf(set("stale", 6)).String()
	got, err := client.Get(ctx, connect.NewRequest(&settingsv1.GetSettingsRequest{}))
	if err != nil {
		return fmt.Errorf("Get: %w", err)
	}
	for _, one := range got.Msg.Settings {
		answer["setting "+one.Name] = one.Value
	}
	if _, err := client.Delete(ctx, connect.NewRequest(&settingsv1.DeleteSettingsRequest{Name: "pluginSettings"})); err != nil {
		return fmt.Errorf("Delete: %w", err)
	}
	got, err = client.Get(ctx, connect.NewRequest(&settingsv1.GetSettingsRequest{}))
	if err != nil {
		return fmt.Errorf("Get: %w", err)
	}
	answer["settings_left"] = len(got.Msg.Settings)
	return nil
}

func rules(ctx context.Context, client settingsv1connect.RecordingRulesServiceClient, answer map[string]any) error {
	made, err := client.UpsertRecordingRule(ctx, connect.NewRequest(&settingsv1.UpsertRecordingRuleRequest{
		MetricName: "profiles_recorded_hot",
		Matchers:   []string{`{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}`, `{service_name="bank"}`},
		GroupBy:    []string{"service_name"},
		StacktraceFilter: &settingsv1.StacktraceFilter{
			FunctionName: &settingsv1.StacktraceFilterFunctionName{FunctionName: "main.settleAccounts"},
		},
	}))
	if err != nil {
		return fmt.Errorf("UpsertRecordingRule: %w", err)
	}
	id := made.Msg.Rule.Id
	got, err := client.GetRecordingRule(ctx, connect.NewRequest(&settingsv1.GetRecordingRuleRequest{Id: id}))
	if err != nil {
		return fmt.Errorf("GetRecordingRule: %w", err)
	}
	answer["rule"] = []string{got.Msg.Rule.MetricName, got.Msg.Rule.ProfileType, got.Msg.Rule.StacktraceFilter.FunctionName.FunctionName}
	listed, err := client.ListRecordingRules(ctx, connect.NewRequest(&settingsv1.ListRecordingRulesRequest{}))
	if err != nil {
		return fmt.Errorf("ListRecordingRules: %w", err)
	}
	answer["rules"] = len(listed.Msg.Rules)
	if _, err := client.DeleteRecordingRule(ctx, connect.NewRequest(&settingsv1.DeleteRecordingRuleRequest{Id: id})); err != nil {
		return fmt.Errorf("DeleteRecordingRule: %w", err)
	}
	return nil
}

func adHoc(ctx context.Context, client adhocprofilesv1connect.AdHocProfileServiceClient, body []byte, answer map[string]any) error {
	profile := base64.StdEncoding.EncodeToString(body)
	uploaded, err := client.Upload(ctx, connect.NewRequest(&adhocv1.AdHocProfilesUploadRequest{Name: "cpu.pb.gz", Profile: profile}))
	if err != nil {
		return fmt.Errorf("Upload: %w", err)
	}
	id, cpu := uploaded.Msg.Id, "cpu"
	answer["profile_types"] = uploaded.Msg.ProfileTypes
	got, err := client.Get(ctx, connect.NewRequest(&adhocv1.AdHocProfilesGetRequest{Id: id, ProfileType: &cpu}))
	if err != nil {
		return fmt.Errorf("Get: %w", err)
	}
	answer["upload"] = json.RawMessage(got.Msg.FlamebearerProfile)
	listed, err := client.List(ctx, connect.NewRequest(&adhocv1.AdHocProfilesListRequest{}))
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	for _, one := range listed.Msg.Profiles {
		if one.Id == id {
			answer["listed"] = one.Name
		}
	}
	diff, err := client.Diff(ctx, connect.NewRequest(&adhocv1.AdHocProfilesDiffRequest{LeftId: id, RightId: id, ProfileType: &cpu}))
	if err != nil {
		return fmt.Errorf("Diff: %w", err)
	}
	answer["diff"] = json.RawMessage(diff.Msg.FlamebearerProfile)
	return nil
}
