package support

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/redact"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/internal/support/gather"
)

// collector knows how to collect each part.
type collector struct {
	w     *witness.Witness
	known *redact.Known
	lines int64
}

// errNone is why there is nothing of a cluster that the environment does not have yet.
var errNone = errors.New("the state has no such cluster: it is not created yet, or the environment has none")

// parts are all parts, the most important first.
func (c collector) parts(clusters []string) []support.Part {
	parts := []support.Part{
		{Name: "why", Collect: c.why},
		{Name: "secrets", Collect: c.secrets},
		{Name: "versions", Collect: c.versions},
		{Name: "environment", Collect: c.environment},
		{Name: "state", Collect: c.state},
		{Name: "runs", Collect: c.runs},
		{Name: "plan", Collect: c.plan},
		{Name: "cloud", Collect: c.cloud},
		{Name: "seed/machine", Collect: c.machine},
	}
	parts = append(parts, c.kubernetes("management", false, func(context.Context) (*kube.Cluster, error) { return c.w.Management() })...)
	parts = append(parts, c.kubernetes("seed", false, func(context.Context) (*kube.Cluster, error) { return c.w.OnSeed() })...)
	for _, wanted := range clusters {
		t := tenant{c: c, wanted: wanted}
		name := "clusters/" + strings.ReplaceAll(wanted, "/", ".")
		parts = append(parts, support.Part{Name: name + "/cloud", Collect: t.cloud})
		parts = append(parts, c.kubernetes(name, true, t.kubernetes)...)
	}
	return parts
}

// kubernetes are the parts of one Kubernetes cluster.
func (c collector) kubernetes(name string, tenant bool, open func(context.Context) (*kube.Cluster, error)) []support.Part {
	on := func(collect func(*kube.Cluster) func(context.Context, *support.Folder) error) func(context.Context, *support.Folder) error {
		return func(ctx context.Context, folder *support.Folder) error {
			cluster, err := open(ctx)
			if err != nil {
				return err
			}
			if cluster == nil {
				return errNone
			}
			return collect(cluster)(ctx, folder)
		}
	}
	return []support.Part{
		{Name: name + "/objects", Collect: on(func(k *kube.Cluster) func(context.Context, *support.Folder) error {
			return gather.Objects(k, tenant, c.known)
		})},
		{Name: name + "/logs", Collect: on(func(k *kube.Cluster) func(context.Context, *support.Folder) error {
			return gather.Logs(k.Typed, tenant, c.lines)
		})},
		{Name: name + "/journals", Collect: on(func(k *kube.Cluster) func(context.Context, *support.Folder) error {
			return gather.Journals(k.Typed, c.lines)
		})},
	}
}

// why is the snapshot of all clusters and what the engine says of it.
func (c collector) why(ctx context.Context, folder *support.Folder) error {
	all := c.w.Snapshots(ctx, "", "")
	folder.JSON(support.SnapshotName, all)
	answers := all.Explain("", "")
	folder.JSON("why.json", answers)
	folder.Add("why.txt", []byte(answers.Text()))
	for _, u := range all.Unseen {
		folder.Miss(u.What, errors.New(u.Why))
	}
	return nil
}

// secrets learns what must not be in the archive; it writes no file.
func (c collector) secrets(ctx context.Context, folder *support.Folder) error {
	options := environment.CloudOptions(c.w.Loaded)
	names := []string{options.Cloud}
	spec := c.w.Loaded.Environment.Spec
	if spec.Magnum != nil && spec.Magnum.AdminCloud != "" {
		names = append(names, spec.Magnum.AdminCloud)
	}
	for _, name := range names {
		options.Cloud = name
		login, err := cloud.Find(options)
		if err != nil {
			folder.Miss("the login of cloud "+name, err)
			continue
		}
		c.known.Add(redact.ValuesIn("clouds.yaml", string(login.CloudsYAML))...)
	}
	for _, registry := range spec.Registries {
		text, err := os.ReadFile(string(registry.PasswordFile))
		if registry.PasswordFile != "" {
			folder.Miss("the password of a registry", err)
			c.known.Add(string(text))
		}
	}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); redact.Sensitive(name) || strings.Contains(name, "PASSPHRASE") || strings.Contains(name, "TOKEN") {
			c.known.Add(value)
		}
	}
	phrase, err := target.Passphrase(c.w.Loaded)(ctx, false)
	folder.Miss("the passphrase of the state", err)
	c.known.Add(string(phrase))
	e, err := target.Engine(c.w.Loaded, event.Discard{}, nil)
	if err != nil {
		return err
	}
	secrets, err := e.Secrets(ctx)
	folder.Miss("the secrets in the state", err)
	for _, secret := range secrets {
		c.known.Add(redact.ValuesIn("secret", secret)...)
	}
	if t, err := c.w.Target(); err == nil {
		c.known.Add(t.Cloud.Provider.Token())
	}
	return nil
}

func (c collector) versions(_ context.Context, folder *support.Folder) error {
	versions := map[string]any{"slipway": environment.UserAgent(), "commit": component.ThisBuild().Commit}
	if build, ok := debug.ReadBuildInfo(); ok {
		versions["go"] = build.GoVersion
		for _, s := range build.Settings {
			if strings.HasPrefix(s.Key, "vcs.") {
				versions[s.Key] = s.Value
			}
		}
	}
	for name, open := range map[string]func() (*kube.Cluster, error){"management": c.w.Management, "seed": c.w.OnSeed} {
		cluster, err := open()
		if err == nil && cluster == nil {
			err = errNone
		}
		if err != nil {
			folder.Miss("Kubernetes of "+name, err)
			continue
		}
		version, err := cluster.Typed.Discovery().ServerVersion()
		folder.Miss("Kubernetes of "+name, err)
		if err == nil {
			versions["kubernetes of "+name] = version.GitVersion
		}
	}
	folder.JSON("versions.json", versions)
	opened, err := bundle.Open(string(c.w.Loaded.Environment.Spec.Bundle))
	folder.Miss("bundle.json", err)
	if err == nil {
		folder.JSON("bundle.json", opened.Bill())
	}
	return nil
}

// environment is the environment file with defaults; it names files with secrets, and has
// none itself.
func (c collector) environment(_ context.Context, folder *support.Folder) error {
	text, err := json.Marshal(c.w.Loaded.Environment)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		text, err = yaml.Marshal(redact.Object(fields))
	}
	if err != nil {
		return fmt.Errorf("encoding the environment: %w", err)
	}
	folder.Add("slipway.yaml", text)
	return nil
}

// state is the state without secrets, not even encrypted ones.
func (c collector) state(ctx context.Context, folder *support.Folder) error {
	e, err := target.Engine(c.w.Loaded, event.Discard{}, nil)
	if err != nil {
		return err
	}
	text, err := e.Export(ctx)
	if err != nil {
		return err
	}
	var state any
	if err := json.Unmarshal(text, &state); err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	folder.JSON("state.json", unsealed(state))
	return nil
}

// unsealed is a state with a word in place of each secret.
func unsealed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v["ciphertext"] != nil {
			return redact.Mark
		}
		for name, inner := range v {
			v[name] = unsealed(inner)
		}
		delete(v, "secrets_providers")
	case []any:
		for i, inner := range v {
			v[i] = unsealed(inner)
		}
	}
	return value
}

// lastRuns is of how many runs the events are in the archive.
const lastRuns = 20

// runs are the last runs with their events.
func (c collector) runs(ctx context.Context, folder *support.Folder) error {
	store, leave, err := runlog.Open(ctx, c.w.Loaded.LogURL())
	if err != nil {
		return err
	}
	defer leave()
	name := c.w.Loaded.Environment.Metadata.Name
	records, err := runlog.List(ctx, store, name, 0)
	folder.Miss("runs.json", err)
	folder.JSON("runs.json", records)
	for _, r := range records[:min(len(records), lastRuns)] {
		if events := runlog.Events(ctx, store, name, r.ID); len(events) > 0 {
			folder.Add(r.ID+".events.jsonl", events)
		}
	}
	return nil
}

// plan is what up would do now.
func (c collector) plan(ctx context.Context, folder *support.Folder) error {
	t, err := c.w.Target()
	if err != nil {
		return err
	}
	program, checked, err := t.Program(ctx, nil)
	folder.JSON("preflight.json", checked)
	if err != nil {
		return err
	}
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err != nil {
		return err
	}
	for i, change := range plan.Changes {
		for j := range change.Properties {
			p := &plan.Changes[i].Properties[j]
			p.Old, p.New = unsealed(p.Old), unsealed(p.New)
		}
	}
	folder.JSON("plan.json", plan)
	return nil
}

// cloud is the environment's own project, with the machines of the seed and of the
// management cluster.
func (c collector) cloud(ctx context.Context, folder *support.Folder) error {
	t, err := c.w.Target()
	if err != nil {
		return err
	}
	return gather.Cloud(t.Cloud, func(ctx context.Context) []string {
		var ids []string
		if seed, err := c.w.Seed(); err == nil && seed.ServerID != "" {
			ids = append(ids, seed.ServerID) // whatever is wrong, its console may say so
		}
		if on, err := c.w.OnSeed(); err == nil && on != nil {
			ids = append(ids, sick(ctx, on)...)
		}
		return ids
	})(ctx, folder)
}

func (c collector) machine(ctx context.Context, folder *support.Folder) error {
	machine, err := c.w.Machine()
	if err != nil {
		return err
	}
	return gather.Machine(machine, c.lines)(ctx, folder)
}
