package consoletest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
)

func environment() console.Environment {
	e := console.Environment{Name: "prod", Cloud: "prod", Health: console.Broken, Verdict: words.T("Not all is well: %s. %s.", "Machine k8s-1-w2 of cluster k8s-1 is Pending: No valid host was found", "Run slipway cluster describe or slipway status --wide to see the rest")}
	cloud, seed := console.Group{Title: words.T("In the cloud")}, console.Group{Title: words.T("On the seed")}
	for i, kind := range []string{"network", "subnet", "router", "security group", "port", "volume", "server", "load balancer"} {
		cloud.Rows = append(cloud.Rows, console.Row{Kind: kind, Name: fmt.Sprintf("prod-%d", i), State: "ACTIVE", Health: console.Well})
	}
	cloud.Rows[7].State, cloud.Rows[7].Health = "PENDING_UPDATE", console.Changing
	for _, name := range []string{"capi-system/capi-controller-manager", "capo-system/capo-controller-manager"} {
		seed.Rows = append(seed.Rows, console.Row{Kind: "Deployment", Name: name, State: "1/1 available", Health: console.Well, Since: time.Now().Add(-30 * time.Hour)})
	}
	e.Groups = []console.Group{cloud, seed, {Title: words.T("Clusters"), Rows: objects(console.Cluster{Name: "k8s-1"})}}
	return e
}

func objects(c console.Cluster) []console.Row {
	cause := "No valid host was found. There are not enough hosts available."
	since := time.Now().Add(-20 * time.Minute)
	return []console.Row{
		{Kind: "Cluster", Name: c.Name, State: "Provisioned", Health: console.Changing, Since: since},
		{Kind: "OpenStackCluster", Name: c.Name, State: "Ready", Health: console.Well, Level: 1, Since: since},
		{Kind: "KubeadmControlPlane", Name: c.Name + "-control-plane", State: "3 of 3 ready", Health: console.Well, Level: 1, Since: since},
		{Kind: "Machine", Name: c.Name + "-w2", State: "Pending", Cause: cause, Health: console.Broken, Level: 2, Since: since},
	}
}

func noHost(c console.Cluster) console.Finding {
	return console.Finding{Cluster: c.Namespace + "/" + c.Name, Listed: true, Object: "server k8s-1-w2", Cause: "No valid host was found. There are not enough hosts available.", Reason: "no-valid-host", Source: "Nova",
		Fix: "choose a smaller flavor, or ask the cloud's operator for room", Since: time.Now().Add(-20 * time.Minute), Chain: []string{"Cluster k8s-1", "Machine k8s-1-w2", "server k8s-1-w2"},
		Evidence: []string{"Nova: server k8s-1-w2 is ERROR: No valid host was found."}, Consequences: []string{"Cluster k8s-1: 1 of 2 workers"}}
}

func backups() console.Backups {
	at := time.Now().Add(-40 * time.Minute)
	return console.Backups{
		Watch: []console.Row{{Kind: "Backup", Name: "20260102t020000z", State: "made every 60m, took 12 s", Health: console.Well, Since: at}, {Kind: "Drill", Name: "none", State: "overdue", Health: console.Changing}},
		List: []console.Backup{{ID: "20260102t020000z", Of: "management", Slipway: "v1.4.0", Kubernetes: "v1.34.4", Taken: at, Objects: 412, Bytes: 3 << 20},
			{ID: "20260102t010000z", Of: "management", Damage: "its signature is not of a known writer"}},
	}
}

func certificates(now time.Time) console.Certificates {
	at := func(days int) time.Time { return now.AddDate(0, 0, days) }
	return console.Certificates{Soon: 21, Unseen: []console.Unseen{{What: "API server of magnum-00000002/k8s-2", Why: "no answer within 10s"}}, List: []console.Certificate{
		{Cluster: "prod", Use: "control plane machine", Where: "Machine prod-control-plane-x7", Ends: at(-2), Left: words.T("ended %s ago", "2d"), RenewedBy: words.T("nobody"), Health: console.Broken},
		{Cluster: "magnum-00000001/k8s-1", Use: "serving", Where: "Secret k8s-1-hook", Ends: at(20), Left: words.Said("20d"), RenewedBy: words.Said("cert-manager"), Health: console.Changing},
		{Cluster: "seed", Use: "k3s", Where: "26 files, the first: client-admin.crt", Ends: at(300), Left: words.Said("300d"), RenewedBy: words.T("%s, from %s", words.T("k3s when it starts"), "2027-05-24"), Health: console.Well},
		{Cluster: "prod", Use: "authority", Where: "Secret prod-ca (cluster)", Ends: at(3600), Left: words.Said("9y"), RenewedBy: words.T("nobody"), Health: console.Well},
	}}
}

func plan() console.Plan {
	return console.Plan{Summary: words.List(", ", words.T("%d to update", 2), words.T("%d to replace", 1), words.T("%d unchanged", 41)), Foreseen: true, Takes: "about 9m: an estimate of 2m15s for each machine, because no former run in the log replaced any",
		Meanwhile: []string{"2 instances (4 left)", "8192 MiB of memory (6000 left)"}, Others: []words.Text{words.T("on the %s: %s %s", "seed", "capo", "v0.13.0 → v0.14.2")}, Unknown: []string{"which workload clusters there are: no answer within 30s"},
		Changes: []console.Change{{Operation: "update", Name: "management-cluster", Kind: "kubernetes Cluster", Properties: []console.Property{{Path: "values", Old: "kubernetesVersion: 1.33.5", New: "kubernetesVersion: 1.34.4"}}},
			{Operation: "replace", Name: "node-image", Kind: "openstack Image", Properties: []console.Property{{Path: "sha256", Old: "5f2f", New: "a1b2", Replaces: true}}}, {Operation: "delete", Name: "magnum", Kind: "kubernetes Magnum"}},
		Replaced: []console.Replacement{{Name: words.T("management cluster %s", "prod"), Machines: 5, Replaced: 4, AtMost: true, Why: words.Said("Kubernetes v1.33.5 → v1.34.4"), Versions: []words.Text{words.Said("Kubernetes v1.33.5 → v1.34.4")}},
			{Name: words.Said("control-plane"), Level: 1, Machines: 3, Replaced: 3, Why: words.Said("Kubernetes v1.33.5 → v1.34.4")}, {Name: words.T("%d workload clusters", 4), Machines: 32, Why: words.Said("they keep their chart")}},
		Obstacles: []console.Obstacle{{Why: "quota of MiB of memory: replacing machines one after the other needs 8192 more, but only 6000 are free", Fix: "delete what you do not need"}}}
}

func capacity() console.Capacity {
	return console.Capacity{Room: []console.Room{{Group: "control-plane", Flavor: "m1.large", Machines: 0, Bound: "cores"}, {Group: "md-0", Flavor: "m1.medium", Machines: 3, Bound: "ram"}, {Group: "big", Flavor: "m1.xlarge", Machines: -1}},
		Quotas: []console.Quota{{Service: "compute", Resource: "cores", Used: 18, Limit: 20, Needed: 4, Short: 2}, {Service: "compute", Resource: "instances", Used: 9, Limit: 10, Left: 1}, {Service: "network", Resource: "ports", Used: 73, Limit: -1, Left: -1}},
		Checks: []console.Check{{Level: "error", ID: "quota", Object: "quota cores of compute", Cause: "it needs 4, but only 2 of 20 are free", Fix: "ask the cloud's operator for 2 more"}, {Level: "info", ID: "flavor", Object: "flavor m1.large", Cause: "kept: the seed has this flavor"}}}
}

// steps makes the events of steps that run one after the other: name, seconds, what it waits
// for; the last one is left open unless it has ended.
func steps(begin time.Time, list [][3]any, open bool) (events []event.Event) {
	at := begin
	for i, s := range list {
		name, took, waits := s[0].(string), time.Duration(s[1].(int))*time.Second, s[2].(string)
		end := at.Add(took)
		events = append(events, event.Event{Time: at, Since: at, Step: name, State: event.Started, Message: "creating"})
		if waits != "" {
			events = append(events, event.Event{Time: at.Add(took / 3), Since: at, Step: name, State: event.Waiting, Message: waits})
		}
		if !open || i < len(list)-1 {
			events = append(events, event.Event{Time: end, Since: at, Step: name, State: event.Done, Message: "created"})
		}
		at = end
	}
	return events
}

// Going are the events of a run that has not ended.
func Going(begin time.Time) []event.Event {
	events := steps(begin, [][3]any{{"network", 4, ""}, {"seed-image", 20, ""}, {"seed", 30, "server is BUILD (spawning)"}, {"k3s", 40, "k3s is activating"}, {"management-cluster", 60, "0 of 3 machines; Machine prod-control-plane-x7: Provisioning: server is BUILD"}}, true)
	up := begin.Add(10 * time.Second)
	return append(events, event.Event{Time: up, Since: up, Step: "node-image", State: event.Running, Message: "uploading", Done: 310 << 20, Total: 720 << 20, Unit: "bytes", Rate: 9 << 20},
		event.Event{Time: begin.Add(2 * time.Second), State: event.Note, Message: "a backup was made: 20260102t020000z"})
}

// Failed are the events of a run whose seed found no host.
func Failed(begin time.Time) []event.Event {
	events := steps(begin, [][3]any{{"network", 4, ""}, {"seed-image", 20, ""}, {"seed", 30, "server is BUILD (scheduling)"}}, true)
	end := begin.Add(60 * time.Second)
	return append(events, event.Event{Time: end, Since: begin.Add(24 * time.Second), Step: "seed", State: event.Failed, Error: "server prod-seed: No valid host was found"})
}

// Former are the events of a run that went well.
func Former(begin time.Time) []event.Event {
	return steps(begin, [][3]any{{"network", 5, ""}, {"seed-image", 22, ""}, {"seed", 28, ""}, {"k3s", 45, ""}, {"management-cluster", 380, ""}, {"magnum", 60, ""}}, false)
}

// Hostile puts a text into every field of every value that has text, whatever it is for.
func Hostile(w World, text string) World {
	spoil(reflect.ValueOf(&w).Elem(), text)
	return w
}

func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(strings.TrimSpace(text))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			spoil(v.Field(i), text)
		}
	case reflect.Interface:
		if v.CanSet() && !v.IsNil() && v.Type() == reflect.TypeFor[words.Text]() {
			v.Set(reflect.ValueOf(words.Said(strings.TrimSpace(text))))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			spoil(value, text)
			v.SetMapIndex(key, value)
		}
	}
}
