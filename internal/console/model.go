// Package console is the page for operators: the bring-up as it happens, the environment, its
// clusters with causes, backups, and the log of runs. It only shows: what to do is a command
// beside what it shows.
//
// The package knows no cloud and no Kubernetes. Sources answers, so that the page shows what
// the commands print, and tests run without either.
package console

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
)

// Sources is where the page gets everything from. Its methods are called at the same time,
// and may take as long as ctx lasts.
type Sources interface {
	// Environment is what slipway status knows.
	Environment(ctx context.Context) (Environment, error)
	// Clusters are the workload clusters: slipway cluster list.
	Clusters(ctx context.Context) ([]Cluster, error)
	// Cluster is one of them: slipway cluster describe.
	Cluster(ctx context.Context, namespace, name string) (Description, error)
	// Causes are those of the whole environment: slipway why.
	Causes(ctx context.Context) (Causes, error)
	// Backups are how schedule and drills go, and the backups there are.
	Backups(ctx context.Context) (Backups, error)
	// Plan is what up would do now: slipway plan. Nobody asks for it beside a run.
	Plan(ctx context.Context) (Plan, error)
	// Capacity is what the quotas allow: slipway preflight.
	Capacity(ctx context.Context) (Capacity, error)
	// Certificates are what ends when, and who renews it: slipway certs.
	Certificates(ctx context.Context) (Certificates, error)
	// Runs are the newest runs, the newest first: slipway log.
	Runs(ctx context.Context) ([]Run, error)
	// Order is what each step comes after, by its name; empty if the state does not know.
	Order(ctx context.Context) (map[string][]string, error)
	// Events are the events of a run, in order; none if they are not kept any more.
	Events(ctx context.Context, run string) ([]event.Event, error)
}

// What both consoles have.
type (
	// NotYet is why a source has nothing to say, without a fault.
	NotYet = frame.NotYet
	// Health is how something is.
	Health = frame.Health
)

// The values of Health.
const (
	Well     = frame.Well
	Changing = frame.Changing
	Broken   = frame.Broken
	Unknown  = frame.Unknown
)

// Row is an object in a tree.
type Row struct {
	Kind, Name, State, Cause string
	// Label and Word are shown instead of Name and State where they are texts of ours.
	Label, Word words.Text
	Health      Health
	// Level is how deep it is in the tree.
	Level int
	Since time.Time
}

// Group is a part of an environment.
type Group struct {
	Title words.Text
	Rows  []Row
}

// Environment is the environment's tree.
type Environment struct {
	Name, Cloud string
	// Verdict is one sentence, Health whether it is good; Unknown if there is nothing yet.
	Verdict words.Text
	Health  Health
	// Note says what could not be asked, or why something is not there.
	Note   words.Text
	Groups []Group
}

// Cluster is a workload cluster in a list.
type Cluster struct {
	Namespace, Name string
	// MadeBy is who made it; Project and Tenant are the project and the name of a cluster of
	// the Magnum API.
	MadeBy, Project, Tenant string
	Phase, Version          string
	ControlPlane, Workers   string
	Created                 time.Time
	Ready                   bool
	// Cause is the first one, Reason its stable id.
	Cause, Reason string
}

// Finding is a cause.
type Finding struct {
	// Cluster is namespace/name; empty for servers of the environment itself.
	Cluster string
	// Listed is that Clusters has it, so that it has a page.
	Listed                bool
	Object, Cause, Reason string
	Source, Fix           string
	Since                 time.Time
	Chain                 []string
	Evidence              []string
	Consequences          []string
	// Final is that the controller does not try again by itself.
	Final bool
}

// Unseen is what could not be looked at, and why.
type Unseen struct{ What, Why string }

// Causes are all that were found.
type Causes struct {
	Findings []Finding
	Unseen   []Unseen
}

// Description is a cluster with its objects.
type Description struct {
	Cluster
	Rows     []Row
	Findings []Finding
	Unseen   []Unseen
	// Details are conditions and events of what the others wait for.
	Details string
}

// Backup is a backup that is stored.
type Backup struct {
	ID, Of, Slipway, Kubernetes string
	Taken                       time.Time
	Objects                     int
	Bytes                       int64
	// Damage says why it cannot be used.
	Damage string
}

// Backups is how they go.
type Backups struct {
	// Watch are the lines about schedule and drills.
	Watch []Row
	List  []Backup
	// Note says why there are none, or what could not be read.
	Note words.Text
}

// File is a file that a run read.
type File struct{ Name, SHA256 string }

// Run is one run of a command that changes something.
type Run struct {
	ID, Command, By, Version, Cloud string
	// Label is shown instead of Command where it is a text of ours.
	Label          words.Text
	Started, Ended time.Time
	// Outcome is "running", "succeeded", "failed", "interrupted", or "events" for those of a
	// file.
	Outcome string
	Exit    int
	Error   string
	Changed []string
	Files   []File
	// EventFile is the file of events that it is, instead of a run of the log.
	EventFile string
}

// Running reports whether more events may come.
func (r Run) Running() bool { return r.Outcome == "running" || r.Outcome == OutcomeEvents }

// OutcomeEvents is the outcome of a file of events: it says nothing about the run.
const OutcomeEvents = "events"

// mostFindings is how many causes a page shows.
const mostFindings = 50

// Shown are the first findings, More how many follow.
func (c Causes) Shown() []Finding { return c.Findings[:min(len(c.Findings), mostFindings)] }

// More is how many findings Shown leaves out.
func (c Causes) More() int { return max(0, len(c.Findings)-mostFindings) }

// Title names the table of Rows.
func (Backups) Title() words.Text { return words.T("Schedule and drills") }

// Rows are the lines about schedule and drills.
func (b Backups) Rows() []Row { return b.Watch }

// Title names the table of the cluster's objects.
func (Description) Title() words.Text { return words.T("Objects of the cluster") }
