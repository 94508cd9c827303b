// Package update is `slipway update`.
package update

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/proposal"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "update", Short: "Propose newer versions for a repository of environments"}
	cmd.AddCommand(newPropose(streams))
	return cmd
}

type options struct {
	repository, branch, push string
	images, keys             []string
	unsigned, dry            bool
	progress, format         string
}

func newPropose(streams ui.Streams) *cobra.Command {
	o := options{repository: ".", progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Put newer versions of Slipway and Kubernetes on a branch",
		Long: `Looks for versions that the repository of your environments pins, and puts newer ones on a
branch, for you to read and merge:

  - addresses of bundles, oci://REGISTRY/REPOSITORY:v1.2.3, with or without a digest, in any
    file, such as a pipeline: to the newest release that an upgrade may go to in one step.
    The signature of its bill of materials is checked;
  - images with slipway that --image names: to the release of the bundle;
  - spec.managementCluster.kubernetesVersion: to the version of the bundle, or of this
    slipway if no bundle is pinned.

It reads what is committed, and does not touch your working tree. The branch has one commit;
a second run finds it. If nothing newer is there, it makes no branch and exits with 0.`,
		Example: `  slipway update propose --key bundle.pub --dry-run
  slipway update propose --key bundle.pub --image registry.example.org/slipway --push origin
  slipway update propose --key bundle.pub -o json | jq -r .branch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	f := cmd.Flags()
	f.StringVar(&o.repository, "repository", o.repository, "folder in the git repository of your environments")
	f.StringVar(&o.branch, "branch", "", "name of the branch (default: slipway-update-, then the newest version)")
	f.StringVar(&o.push, "push", "", "remote to which the branch is pushed, such as origin")
	f.StringArrayVar(&o.images, "image", nil, "image with slipway, REGISTRY/REPOSITORY, whose tags are pins too; repeatable")
	f.StringArrayVar(&o.keys, "key", nil, "public key of minisign, or its file, that must have signed the bundle; repeatable")
	f.BoolVar(&o.unsigned, "unsigned", false, "accept bundles without checking a signature")
	f.BoolVar(&o.dry, "dry-run", false, "show what would change, and make no branch")
	ui.ProgressFlag(f, &o.progress)
	ui.FormatFlag(f, &o.format)
	return cmd
}

// result is what the command prints.
type result struct {
	proposal.Proposal
	// Branch and Commit are empty if there is no change, or with --dry-run.
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	Pushed string `json:"pushed,omitempty"`
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	git, err := proposal.OpenGit(ctx, o.repository, os.Environ())
	if err != nil {
		return err
	}
	head, err := git.Head(ctx)
	if err != nil {
		return err
	}
	texts, pins, err := o.read(ctx, git, head)
	if err != nil {
		return err
	}
	trust, err := o.trust(pins)
	if err != nil {
		return err
	}
	r := result{}
	err = ui.Step(o.progress, streams, "versions", "looking for newer versions", func(*event.Step) (string, error) {
		r.Proposal, err = proposal.Choose(ctx, pins, registry{trust, upstream.Options{Keychain: authn.DefaultKeychain}})
		return fmt.Sprintf("%d of %d pins have a newer version", len(r.Changes), len(pins)), err
	})
	if err != nil {
		return err
	}
	if len(r.Changes) > 0 && !o.dry {
		if err := o.put(ctx, git, head, texts, &r); err != nil {
			return err
		}
	}
	return o.print(streams, r)
}

// read finds the pins of a commit, and the texts of the files that have some.
func (o options) read(ctx context.Context, git *proposal.Git, commit string) (map[string][]byte, []proposal.Pin, error) {
	texts, pins := map[string][]byte{}, []proposal.Pin{}
	err := git.Each(ctx, commit, append([]string{artifact.Scheme, "kubernetesVersion"}, o.images...), func(file string, text []byte) {
		if found := proposal.Find(file, text, o.images); len(found) > 0 {
			texts[file], pins = text, append(pins, found...)
		}
	})
	if err == nil && len(pins) == 0 {
		err = fault.Usage(o.repository, errors.New("nothing that is committed here pins a version"),
			"pin a bundle, as in slipway bundle pull oci://registry.example.org/slipway/bundle:v0.1.0, or spec.managementCluster.kubernetesVersion")
	}
	return texts, pins, err
}

// trust is needed only where a bundle is pinned.
func (o options) trust(pins []proposal.Pin) (artifact.Trust, error) {
	if !slices.ContainsFunc(pins, func(p proposal.Pin) bool { return p.Kind == proposal.Bundle }) && len(o.keys) == 0 {
		return artifact.NewTrust(nil, true)
	}
	return artifact.NewTrust(o.keys, o.unsigned)
}

// put makes the branch, and pushes it if that is wanted.
func (o options) put(ctx context.Context, git *proposal.Git, head string, texts map[string][]byte, r *result) error {
	files, byFile := map[string][]byte{}, map[string][]proposal.Change{}
	for _, c := range r.Changes {
		byFile[c.File] = append(byFile[c.File], c)
	}
	for file, changes := range byFile {
		files[file] = proposal.Apply(texts[file], changes)
	}
	var err error
	r.Branch = cmp.Or(o.branch, "slipway-update-"+r.Newest())
	if r.Commit, err = git.Branch(ctx, r.Branch, head, r.Message(), files); err != nil || o.push == "" {
		return err
	}
	r.Pushed = o.push
	return git.Push(ctx, o.push, r.Branch)
}

func (o options) print(streams ui.Streams, r result) error {
	rows := [][]string{}
	for _, c := range r.Changes {
		rows = append(rows, []string{fmt.Sprintf("%s:%d", c.File, c.Line), cmp.Or(c.Repository, string(c.Kind)), c.Version, c.To})
	}
	lines := append([]string{}, r.Notes...)
	switch {
	case len(r.Changes) == 0:
		lines = append(lines, "nothing newer is there")
	case r.Branch == "":
		lines = append(lines, "no branch was made")
	case r.Pushed != "":
		lines = append(lines, "branch "+r.Branch+" was pushed to "+r.Pushed)
	default:
		lines = append(lines, "branch "+r.Branch+" has the change: git show "+r.Branch)
	}
	return ui.Output(streams.Out, o.format, r, ui.Table{Header: []string{"PIN", "OF", "IS", "NEWER"}, Rows: rows, Footer: lines})
}

// registry is a registry of containers.
type registry struct {
	trust   artifact.Trust
	options upstream.Options
}

func (r registry) Tags(ctx context.Context, repository string) ([]string, error) {
	parsed, err := name.NewRepository(repository, name.StrictValidation)
	if err != nil {
		return nil, fault.Usage(repository, err, "give REGISTRY/REPOSITORY, such as registry.example.org/slipway")
	}
	return upstream.Tags(ctx, parsed, r.options)
}

func (r registry) Bundle(ctx context.Context, repository, tag string) (proposal.Release, error) {
	ref, err := artifact.Reference(artifact.Scheme + repository + ":" + tag)
	if err != nil {
		return proposal.Release{}, err
	}
	found, err := upstream.Bill(ctx, upstream.Artifact{Reference: ref, Trust: r.trust}, r.options)
	if err != nil {
		return proposal.Release{}, err
	}
	return proposal.Release{Digest: found.Digest, Versions: component.VersionsIn(found.Bill)}, nil
}

func (r registry) Image(ctx context.Context, repository, tag string) (proposal.Release, error) {
	ref, err := name.ParseReference(repository+":"+tag, name.StrictValidation)
	if err != nil {
		return proposal.Release{}, fault.Usage(repository, err, "give REGISTRY/REPOSITORY, such as registry.example.org/slipway")
	}
	digest, err := upstream.Digest(ctx, ref, r.options)
	return proposal.Release{Digest: digest}, err
}
