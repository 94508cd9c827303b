package update

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// site is a repository of environments, and a registry with releases.
type site struct {
	t         *testing.T
	dir, host string
	key       string
	secret    []byte
}

// newSite has a bundle pinned, with its digest, and Kubernetes.
func newSite(t *testing.T) *site {
	t.Helper()
	server := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	s := &site{t: t, dir: t.TempDir(), host: strings.TrimPrefix(server.URL, "http://")}
	s.key, s.secret = bundletest.Key(t)
	digest := s.release("v0.1.0", "v1.33.5")
	s.release("v0.2.0", "v1.34.4")
	s.release("v0.3.0", "v1.35.0")
	s.git("init", "--quiet", "--initial-branch", "main")
	s.git("config", "user.name", "Operator")
	s.git("config", "user.email", "operator@example.org")
	s.write("ci/pipeline.yml", "pull: [slipway bundle pull oci://"+s.host+"/slipway/bundle:v0.1.0@"+digest+" --key k]\n")
	s.write("slipway.yaml", "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nspec:\n  managementCluster:\n    kubernetesVersion: v1.33.5 # mine\n")
	s.git("add", ".")
	s.git("commit", "--quiet", "-m", "Environments")
	return s
}

// release pushes a signed bundle with a kubelet, and returns its digest.
func (s *site) release(tag, kubernetes string) string {
	s.t.Helper()
	folder, err := bundle.Create(s.t.TempDir(), "linux/amd64")
	if err != nil {
		s.t.Fatal(err)
	}
	defer folder.Close()
	item := bundletest.PutFile(s.t, folder, "kubelet", []byte(kubernetes))
	item.Version = kubernetes
	if err := folder.Record(item); err != nil {
		s.t.Fatal(err)
	}
	if err := artifact.Sign(folder, s.secret, "", "test"); err != nil {
		s.t.Fatal(err)
	}
	ref, err := artifact.Reference("oci://" + s.host + "/slipway/bundle:" + tag)
	if err != nil {
		s.t.Fatal(err)
	}
	digest, err := artifact.Push(s.t.Context(), folder, ref, artifact.PushOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return digest
}

func (s *site) write(file, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.dir}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// propose runs the command.
func (s *site) propose(args ...string) (result, string, error) {
	s.t.Helper()
	var out strings.Builder
	cmd := New(ui.Streams{Out: &out, Err: io.Discard})
	cmd.SetArgs(append([]string{"propose", "--repository", filepath.Join(s.dir, "ci"), "--progress", "plain", "-o", "json"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(s.t.Context())
	var r result
	if err == nil {
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			s.t.Fatalf("%v\n%s", err, out.String())
		}
	}
	return r, out.String(), err
}

// TestABranchHasTheNewerPins: one commit after what is checked out, which changes the pins and
// nothing else, also while the operator edits files. A second run finds it, and a merged one
// proposes the next step.
//
// proves: F48
func TestABranchHasTheNewerPins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.git("rev-parse", "HEAD")
	s.write("slipway.yaml", "being edited")
	s.write("new", "not committed")
	before := s.git("status", "--porcelain")

	if r, _, err := s.propose("--key", s.key, "--dry-run"); err != nil || len(r.Changes) != 2 || r.Branch != "" || s.git("branch", "--format=%(refname:short)") != "main" {
		t.Fatalf("dry run: %+v, %v", r, err)
	}
	r, out, err := s.propose("--key", s.key)
	if err != nil || r.Branch != "slipway-update-v0.2.0" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "v0.3.0 is not next after v0.1.0") {
		t.Fatalf("%v: %+v\n%s", err, r, out)
	}
	if after := s.git("status", "--porcelain"); after != before || s.git("rev-parse", "HEAD") != head || s.git("rev-parse", r.Branch+"^") != head {
		t.Errorf("the working tree was\n%s\nis\n%s", before, after)
	}
	if files := s.git("diff", "--stat", "--name-only", head, r.Branch); files != "ci/pipeline.yml\nslipway.yaml" {
		t.Errorf("changed: %s", files)
	}
	if text := s.git("show", r.Branch+":slipway.yaml"); !strings.HasSuffix(text, "kubernetesVersion: v1.34.4 # mine") {
		t.Errorf("the environment is\n%s", text)
	}
	pinned := s.git("show", r.Branch+":ci/pipeline.yml")
	if digest := r.Changes[0].ToDigest; len(digest) < 64 || !strings.Contains(pinned, "/slipway/bundle:v0.2.0@"+digest+" --key k]") {
		t.Errorf("the pipeline is\n%s", pinned)
	}
	if said := s.git("log", "-1", "--format=%an%n%B", r.Branch); !strings.HasPrefix(said, "Operator\nUpdate to v0.2.0\n") || !strings.Contains(said, "slipway.yaml:5: Kubernetes v1.33.5 to v1.34.4") {
		t.Errorf("the commit says\n%s", said)
	}
	if again, _, err := s.propose("--key", s.key); err != nil || again.Commit != r.Commit {
		t.Errorf("a second run made %+v, %v", again, err)
	}

	s.git("checkout", "--quiet", "--force", r.Branch)
	remote := t.TempDir()
	s.git("init", "--quiet", "--bare", remote)
	s.git("remote", "add", "forge", remote)
	next, _, err := s.propose("--key", s.key, "--push", "forge", "--branch", "newest")
	if err != nil || len(next.Changes) != 2 || next.Changes[0].To != "v0.3.0" || s.git("ls-remote", "forge", "refs/heads/newest") != next.Commit+"\trefs/heads/newest" {
		t.Fatalf("the next step: %+v, %v", next, err)
	}
	s.git("checkout", "--quiet", "newest")
	if last, _, err := s.propose("--key", s.key); err != nil || len(last.Changes) != 0 || last.Branch != "" {
		t.Errorf("with all that is new: %+v, %v", last, err)
	}
}

// TestAProposalThatCannotBeMade says why, and makes no branch.
func TestAProposalThatCannotBeMade(t *testing.T) {
	t.Parallel()
	other, _ := bundletest.Key(t)
	for name, test := range map[string]struct {
		prepare func(*site)
		args    []string
		want    string
	}{
		"no key":             {nil, nil, "no key is given"},
		"another key":        {nil, []string{"--key", other}, "signed with another key"},
		"no registry":        {func(s *site) { s.commit("ci/pipeline.yml", "oci://127.0.0.1:1/b:v0.1.0") }, []string{"--unsigned"}, "127.0.0.1:1/b"},
		"a tag that is gone": {func(s *site) { s.commit("ci/pipeline.yml", "oci://"+s.host+"/slipway/bundle:v0.0.9") }, []string{"--unsigned"}, "v0.0.9"},
		"no pins":            {func(s *site) { s.git("rm", "--quiet", "-r", "."); s.commit("ci/x", "x") }, []string{"--unsigned"}, "nothing that is committed here pins a version"},
		"a bad branch":       {nil, []string{"--unsigned", "--branch", "a..b"}, "no name of a branch"},
		"another branch":     {func(s *site) { s.git("branch", "mine") }, []string{"--unsigned", "--branch", "mine"}, "it is there, with another content"},
		"no remote":          {nil, []string{"--unsigned", "--push", "nowhere"}, "remote nowhere"},
		"nobody":             {func(s *site) { s.git("config", "user.name", ""); s.git("config", "user.email", "") }, []string{"--unsigned"}, "git config user.name"},
		"no repository":      {func(s *site) { s.dir = s.t.TempDir() }, []string{"--unsigned"}, "--repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			clone := s.dir
			if test.prepare != nil {
				test.prepare(s)
			}
			r, out, err := s.propose(test.args...)
			if err == nil || !strings.Contains(err.Error()+" "+fault.Remedy(err), test.want) || fault.Remedy(err) == "" {
				t.Fatalf("%+v\n%s\n%v", r, out, err)
			}
			s.dir = clone
			if made := s.git("branch", "--list", "slipway-update*"); made != "" && name != "no remote" {
				t.Errorf("it made %s", made)
			}
		})
	}
}

// commit has a file in the next commit.
func (s *site) commit(file, text string) {
	s.t.Helper()
	s.write(file, text)
	s.git("add", ".")
	s.git("commit", "--quiet", "-m", file)
}
