package console

import (
	"cmp"
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type serveOptions struct {
	from   environment.Flags
	listen string
	events string
}

// NewServe returns the command that serves the console, by a name.
func NewServe(streams ui.Streams, name string) *cobra.Command {
	o := serveOptions{listen: "127.0.0.1:0"}
	cmd := &cobra.Command{
		Use:   name,
		Short: "Serve the console on this machine",
		Long: `Serves a page with the bring-up as it happens, the environment, the clusters of all
projects with the causes of what is not well, backups and drills, what up would change and
replace, quotas and certificates, and the log of runs. It only shows; beside each part is
the command that prints the same.

It prints a link on standard output. The link opens one session, in one browser. The page
is for this machine only: other machines, and other sites in the same browser, are
refused. The cloud and the clusters are asked only while somebody looks, with your login.
Ctrl-C ends it.

With --events it also shows a file that slipway up --progress json has written, or still
writes. That needs no environment file.`,
		Example: `  slipway console serve
  slipway console serve --env prod --listen 127.0.0.1:8600
  slipway console serve --events events.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringVar(&o.listen, "listen", o.listen, "loopback address and port; port 0 is any free one")
	cmd.Flags().StringVar(&o.events, "events", "", "file of events to show and to watch again")
	return cmd
}

func (o serveOptions) run(ctx context.Context, streams ui.Streams) error {
	if err := listen.Loopback(o.listen); err != nil {
		return err
	}
	s, name, err := o.sources(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fault.New("--listen "+o.listen, err, "give 127.0.0.1:PORT with a free port, or leave the flag out")
	}
	address := "http://" + listener.Addr().String()
	handler, err := console.New(ctx, console.Options{Sources: s, Environment: name, Flags: o.flags(), Address: listener.Addr(),
		Link: func(path string) {
			fmt.Fprintln(streams.Err, "somebody has signed out; the link for the next session:")
			fmt.Fprintln(streams.Out, address+path)
		}})
	if err != nil {
		listener.Close()
		return err
	}
	fmt.Fprintf(streams.Err, "the console of %s; this link opens one session, Ctrl-C ends the console:\n", cmp.Or(name, "no environment"))
	fmt.Fprintln(streams.Out, address+handler.Link())
	return listen.Browser(ctx, listener, handler)
}

// sources are what the console shows, and the name of the environment, if there is one. A file of
// events alone is enough.
func (o serveOptions) sources(ctx context.Context) (*sources, string, error) {
	loaded, err := o.from.Load()
	if err != nil && (o.events == "" || !o.absent()) {
		return nil, "", err
	}
	s := &sources{from: o.from, loaded: loaded, events: o.events, missing: err, management: connection{open: openManagement(o.from)}}
	if o.events != "" {
		if _, err := readEvents(o.events); err != nil {
			return nil, "", fault.Usage("--events "+o.events, err, "give a file that slipway up --progress json 2>FILE has written")
		}
	}
	if loaded == nil {
		return s, "", nil
	}
	return s, loaded.Environment.Metadata.Name, s.open(ctx)
}

// absent reports that no environment was named, and none is in this folder.
func (o serveOptions) absent() bool {
	return o.from.Name == "" && len(o.from.Files) == 1 && o.from.Files[0] == config.DefaultFile && missing(config.DefaultFile)
}

// flags are those that choose the environment, for commands to copy.
func (o serveOptions) flags() []string {
	var flags []string
	if len(o.from.Files) != 1 || o.from.Files[0] != config.DefaultFile {
		for _, file := range o.from.Files {
			flags = append(flags, "--file", file)
		}
	}
	if o.from.Name != "" {
		flags = append(flags, "--env", o.from.Name)
	}
	return flags
}
