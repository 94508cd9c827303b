package support

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/redact"
)

func limits() Limits {
	return Limits{Size: 1 << 20, Part: 200 * time.Millisecond, Whole: 20 * time.Second, AtOnce: 4}
}

// unpack returns the files of an archive without the folder they are in.
func unpack(t *testing.T, path, identity string) map[string]string {
	t.Helper()
	files, err := Files(path, identity)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestHalfOfItDown: parts that fail, hang, hang without looking at their context, and
// panic are missing with their cause, in their time, and the rest is there.
func TestHalfOfItDown(t *testing.T) {
	t.Parallel()
	parts := []Part{
		{Name: "good", Collect: func(_ context.Context, f *Folder) error { f.Add("a.txt", []byte("here")); return nil }},
		{Name: "fails", Collect: func(_ context.Context, f *Folder) error {
			f.Add("half.txt", []byte("half"))
			return errors.New("no way there")
		}},
		{Name: "hangs", Collect: func(ctx context.Context, _ *Folder) error { <-ctx.Done(); return ctx.Err() }},
		{Name: "deaf", Collect: func(_ context.Context, f *Folder) error { time.Sleep(time.Minute); f.Add("late.txt", nil); return nil }},
		{Name: "panics", Collect: func(context.Context, *Folder) error { panic("oh") }},
		{Name: "partly", Collect: func(_ context.Context, f *Folder) error {
			f.Miss("b.txt", errors.New("refused"))
			f.Miss("c.txt", nil)
			return nil
		}},
	}
	events := &event.Recorder{}
	began := time.Now()
	c := Collect(t.Context(), parts, limits(), events)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	path := filepath.Join(t.TempDir(), "x.tar.zst")
	written, err := Write(Target{Path: path}, Manifest{Environment: "prod", Created: time.Now(), By: "slipway/test"}, c, &redact.Known{}, limits())
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, path, "")
	if files["good/a.txt"] != "here" || files["fails/half.txt"] != "half" || files["deaf/late.txt"] != "" || written.Files != len(files) {
		t.Errorf("%d files: %v", written.Files, files)
	}
	var missing []Missing
	if err := json.Unmarshal([]byte(files["missing.json"]), &missing); err != nil || !reflect.DeepEqual(missing, written.Missing) {
		t.Errorf("%v: %s is not %v", err, files["missing.json"], written.Missing)
	}
	got := ""
	for _, m := range missing {
		got += m.Part + "/" + m.What + ": " + m.Cause + "\n"
	}
	for _, want := range []string{"fails/: no way there\n", "hangs/: not there after 200ms", "deaf/: not there after 200ms", "panics/: collecting it panicked: oh\n", "partly/b.txt: refused\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if len(missing) != 5 {
		t.Errorf("%d are missing:\n%s", len(missing), got)
	}
	ends := map[string]event.State{}
	for _, e := range events.Events() {
		ends[e.Step] = e.State
	}
	if ends["good"] != event.Done || ends["deaf"] != event.Failed || ends["partly"] != event.Done {
		t.Errorf("progress: %v", ends)
	}
}

// TestTheWholeHasATime: what did not begin in time is missing too.
func TestTheWholeHasATime(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Whole, l.Part, l.AtOnce = 100*time.Millisecond, time.Minute, 1
	wait := func(ctx context.Context, _ *Folder) error { <-ctx.Done(); return ctx.Err() }
	c := Collect(t.Context(), []Part{{Name: "a", Collect: wait}, {Name: "b", Collect: wait}}, l, event.Discard{})
	if len(c.Missing) != 2 || !strings.Contains(c.Missing[0].Cause, "100ms (--timeout)") || !strings.Contains(c.Missing[1].Cause, "100ms (--timeout)") {
		t.Errorf("%v", c.Missing)
	}
}

// TestTheSizeIsBounded: of a log that is too long the end stays, a part does not drive
// out the others, and what does not fit is told.
func TestTheSizeIsBounded(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Size = 40000
	long := strings.Repeat("0123456789\n", 3000) + "the end\n"
	parts := []Part{
		{Name: "small", Collect: func(_ context.Context, f *Folder) error { f.Add("a.txt", []byte("x")); return nil }},
		{Name: "big", Collect: func(_ context.Context, f *Folder) error {
			f.Add("long.log", []byte(long))
			f.JSON("much.json", long)
			return nil
		}},
	}
	for _, name := range []string{"p1", "p2", "p3", "p4"} {
		parts = append(parts, Part{Name: name, Collect: func(_ context.Context, f *Folder) error { f.Add("x.log", []byte(long[:9000])); return nil }})
	}
	path := filepath.Join(t.TempDir(), "x.tar.zst")
	written, err := Write(Target{Path: path}, Manifest{Environment: "prod"}, Collect(t.Context(), parts, l, event.Discard{}), &redact.Known{}, l)
	if err != nil {
		t.Fatal(err)
	}
	files, size := unpack(t, path, ""), 0
	for name, text := range files {
		if !strings.HasPrefix(name, "m") { // missing.json and manifest.json
			size += len(text)
		}
	}
	kept := files["big/long.log"]
	if size > 40000 || files["small/a.txt"] != "x" || !strings.HasPrefix(kept, "0123") || !strings.HasSuffix(kept, "the end\n") || len(kept) > 10000 || len(kept) < 9000 || files["big/much.json"] != "" || files["p4/x.log"] != "" || files["p1/x.log"] == "" {
		t.Errorf("%d bytes, of the log %d: %v", size, len(kept), written.Missing)
	}
	if len(written.Missing) != 3 || !strings.Contains(written.Missing[0].Cause, "its end is there") || !strings.Contains(written.Missing[2].Cause, "--max-size") {
		t.Errorf("%+v", written.Missing)
	}
}

// TestNoSecretIsWritten, whichever file it is in: a known one, one that became known in
// another part, one of a known form, in text, in JSON, in a name and in a cause.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	known := &redact.Known{}
	known.Add("Tr0ub4dor-known")
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END PRIVATE KEY-----\n"
	parts := []Part{
		{Name: "log", Collect: func(_ context.Context, f *Folder) error {
			f.Add("x.log", []byte("a Tr0ub4dor-known b late-T0ken-value c\n"+pem))
			return nil
		}},
		{Name: "json", Collect: func(_ context.Context, f *Folder) error {
			known.Add("late-T0ken-value")
			f.JSON("Tr0ub4dor-known.json", map[string]any{"x": []string{"Tr0ub4dor-known", pem}, "password": "unknown-to-us"})
			f.Miss("late-T0ken-value", errors.New("https://u:Tr0ub4dor-known@h"))
			return nil
		}},
	}
	path := filepath.Join(t.TempDir(), "x.tar.zst")
	if _, err := Write(Target{Path: path}, Manifest{Environment: "prod"}, Collect(t.Context(), parts, limits(), event.Discard{}), known, limits()); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, path, "")
	for name, text := range files {
		for _, secret := range []string{"Tr0ub4dor", "late-T0ken", "MIIEpAIBA", "unknown-to-us"} {
			if strings.Contains(name+text, secret) {
				t.Errorf("%s has %s: %s", name, secret, text)
			}
		}
	}
	if len(files) != 4 || !strings.HasPrefix(files["log/x.log"], "a [removed] b [removed] c\n") || !json.Valid([]byte(files["json/[removed].json"])) {
		t.Errorf("%v", files)
	}
}

// TestTheFileIsForItsOwnerAndRecipient: mode 0600, encrypted on request, never over
// another file.
func TestTheFileIsForItsOwnerAndRecipient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	stranger, _ := age.GenerateX25519Identity()
	key, other := filepath.Join(dir, "key"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(key, []byte(identity.String()+"\n"), 0o600), os.WriteFile(other, []byte(stranger.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	recipients, err := Recipients([]string{identity.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Name: "why", Collect: func(_ context.Context, f *Folder) error {
		f.JSON(SnapshotName, Snapshots{Environment: "prod"})
		return nil
	}}}
	path := filepath.Join(dir, "x.age")
	collected := Collect(t.Context(), parts, limits(), event.Discard{})
	written, err := Write(Target{Path: path, Recipients: recipients}, Manifest{Environment: "prod"}, collected, &redact.Known{}, limits())
	if err != nil || !written.Encrypted {
		t.Fatalf("%+v, %v", written, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(path); !bytes.HasPrefix(text, []byte("age-encryption.org/v1")) || bytes.Contains(text, []byte("manifest")) {
		t.Error("it is not encrypted")
	}
	if s, err := Read(path, key); err != nil || s.Environment != "prod" {
		t.Errorf("%+v, %v", s, err)
	}
	for identity, want := range map[string]string{"": "it is encrypted", other: "no identity matched", filepath.Join(dir, "none"): "no such file"} {
		if _, err := Read(path, identity); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: %v, want %q", identity, err, want)
		}
	}
	if _, err := Write(Target{Path: path}, Manifest{}, collected, &redact.Known{}, limits()); err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("over another file: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".slipway-support-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := Recipients([]string{"age1x", identity.String()}); err == nil || strings.Count(err.Error(), "--recipient") != 2 {
		t.Errorf("wrong recipients: %v", err)
	}
	garbage := filepath.Join(dir, "garbage")
	os.WriteFile(garbage, []byte("no archive"), 0o600)
	if _, err := Read(garbage, ""); err == nil || !strings.Contains(err.Error(), "reading the archive") {
		t.Errorf("garbage: %v", err)
	}
}

// TestAFileThatCameMeanwhileStays: two runs can have one name.
func TestAFileThatCameMeanwhileStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "new"), filepath.Join(dir, "x")
	if err := errors.Join(os.WriteFile(from, []byte("new"), 0o600), os.WriteFile(to, []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := place(from, to); err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("over another file: %v", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "theirs" {
		t.Errorf("it is %q now, %v", text, err)
	}
}

// TestAnArchiveAnswersAsTheClusterDid: the same causes from the snapshot's JSON, with
// whole numbers, times and shared clouds, and without what holds secrets.
func TestAnArchiveAnswersAsTheClusterDid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	object := func(fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields}
	}
	said := &cause.Cloud{At: now, Project: "p", Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ERROR", Fault: "No valid host was found.", FaultAt: now.Add(-time.Hour)}}}
	objects := cause.Objects{
		"Cluster": {object(map[string]any{"kind": "Cluster", "metadata": map[string]any{"name": "shop", "namespace": "prod", "generation": int64(2)}, "status": map[string]any{"observedGeneration": int64(2)}})},
		"Machine": {object(map[string]any{"kind": "Machine", "metadata": map[string]any{"name": "shop-w1", "namespace": "prod"},
			"spec": map[string]any{"providerID": "openstack:///w1", "bootstrap": map[string]any{"dataSecretName": "shop-w1"}}})},
		"KubeadmControlPlane": {object(map[string]any{"kind": "KubeadmControlPlane", "metadata": map[string]any{"name": "shop"},
			"spec": map[string]any{"kubeadmConfigSpec": map[string]any{"files": []any{map[string]any{"path": "/x", "content": "hidden-in-a-file"}}}}})},
	}
	inside := &cause.Inside{At: now, Address: "203.0.113.7:6443", From: "the seed", Seen: 3, Ahead: time.Second, Nodes: []cause.Node{{Name: "n", Conditions: []cause.NodeCondition{{Type: "Ready", Status: "True"}}}},
		Pods: []cause.Pod{{Namespace: "kube-system", Name: "dns-1", Owner: cause.Ref{Kind: "Deployment", Name: "dns"}, Created: now.Add(-time.Hour), Node: "n", Containers: []cause.Container{{Name: "dns", Image: "example.com/dns:1",
			Reason: "CrashLoopBackOff", Restarts: 4, Exit: "Error, exit code 1", Words: "cannot log in with password=hidden-in-a-log"}}}}}
	s := Snapshots{Environment: "prod", At: now, Scenes: []Scene{
		{On: "cloud", Snapshot: cause.Snapshot{Now: now, Servers: []cause.Ref{{Kind: "server", Name: "seed", ID: "s1"}}}},
		{On: "management", Namespace: "prod", Cluster: "shop", Snapshot: cause.Snapshot{Objects: objects, Cloud: said, Inside: inside, Now: now}},
		{On: "management", Namespace: "prod", Cluster: "well", Snapshot: cause.Snapshot{Objects: cause.Objects{"Cluster": {object(map[string]any{"kind": "Cluster", "metadata": map[string]any{"name": "well"}})}}, Cloud: said, Now: now}},
		{On: "management", Namespace: "magnum-p", Cluster: "web-x", Title: "web", UUID: "379ac8a7", Snapshot: cause.Snapshot{Objects: cause.Objects{"Cluster": {object(map[string]any{"kind": "Cluster",
			"metadata": map[string]any{"name": "web-x", "namespace": "magnum-p"}})}}, Cloud: &cause.Cloud{Refused: &cause.Refusal{Status: 401, Words: "requires authentication"}}, Magnum: "379ac8a7", Now: now}},
	}, Unseen: []cause.Unseen{{What: "the seed", Why: "down"}}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "No valid host") != 1 || strings.Contains(string(text), "hidden-in-a-file") {
		t.Errorf("the cloud is not in it once, or a secret is: %s", text)
	}
	var again Snapshots
	if err := json.Unmarshal((&redact.Known{}).Scrub(text), &again); err != nil {
		t.Fatal(err)
	}
	if told := again.Explain("shop", "").Text(); strings.Contains(told, "hidden-in-a-log") || !strings.Contains(told, "Deployment kube-system/dns: its container dns ended 4 times, last with Error, exit code 1") {
		t.Errorf("what the cluster itself said: %s", told)
	}
	inside.Pods[0].Containers[0].Words = "cannot log in with password=" + redact.Mark
	for _, asked := range []string{"", "shop", "shop-w1", "well", "web", "nobody"} {
		before, _ := json.Marshal(s.Explain(asked, ""))
		after, _ := json.Marshal(again.Explain(asked, ""))
		if string(before) != string(after) {
			t.Errorf("%q:\n%s\n%s", asked, before, after)
		}
	}
	if a := again.Explain("shop-w1", "prod"); len(a.Answers) != 1 || a.Answers[0].Findings[0].Reason != "no-valid-host" || !strings.Contains(a.Text(), "server shop-w1: No valid host was found (since 2026-01-02 09:00:00 UTC, says Nova)") {
		t.Errorf("%s", a.Text())
	}
	if a := again.Explain("", "other"); len(a.Answers) != 0 {
		t.Errorf("of another namespace: %+v", a)
	}
}
