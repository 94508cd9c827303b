package tacker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// requestOptions are the flags of `slipway tacker requests`.
type requestOptions struct {
	request.Options
	dir, format, token, authority string
}

func newRequests(streams ui.Streams) *cobra.Command {
	o := requestOptions{format: "table", dir: "requests"}
	cmd := &cobra.Command{
		Use:   "requests PACKAGE",
		Short: "Write the requests of a package's life cycle",
		Long: `Writes the JSON of each request of a package's life cycle: create, instantiate, scale,
change to this package, terminate. Each is checked against its schema. The files may
hold the token of the receiver, so only you can read them.`,
		Example: `  slipway tacker requests shop.csar --namespace shop --vim-id 4a1b…
  slipway tacker requests shop.csar --receiver https://slipway.example.com:8443/v1/credentials --receiver-token-file token`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(streams, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", o.dir, "folder to write the files to")
	flags.StringVar(&o.VimID, "vim-id", "", "registered VIM of the management cluster (default: the project's default VIM)")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "namespace on the management cluster")
	flags.StringVar(&o.Receiver, "receiver", "", "https:// URL that gets the cluster's credential (default: nobody)")
	flags.StringVar(&o.token, "receiver-token-file", "", "file with the receiver's token")
	flags.StringVar(&o.authority, "receiver-ca", "", "file with the authority of the receiver's certificate (default: the system's)")
	ui.FormatFlag(flags, &o.format)
	return cmd
}

func (o *requestOptions) run(streams ui.Streams, file string) error {
	text, err := read("PACKAGE", file)
	if err != nil {
		return err
	}
	content, err := csar.Verify(text)
	if err != nil {
		return err
	}
	for _, from := range []struct {
		flag, path string
		to         *string
	}{{"--receiver-token-file", o.token, &o.ReceiverToken}, {"--receiver-ca", o.authority, &o.ReceiverCA}} {
		if from.path == "" {
			continue
		}
		text, err := read(from.flag, from.path)
		if err != nil {
			return err
		}
		*from.to = strings.TrimSpace(string(text))
	}
	if o.Receiver != "" && (o.ReceiverToken == "" || !strings.HasPrefix(o.Receiver, "https://")) {
		return fault.Usage("--receiver", fmt.Errorf("%q needs https:// and a token", o.Receiver), "give an https:// URL, and --receiver-token-file")
	}
	bodies, err := request.All(content, o.Options)
	if err != nil {
		return fault.New(file, err, "make the package again with this version of Slipway")
	}
	return o.write(streams, bodies)
}

func (o *requestOptions) write(streams ui.Streams, bodies []request.Body) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fault.Usage("--dir", err, "name a folder that you may write to")
	}
	table := ui.Table{Header: []string{"OPERATION", "FILE"}}
	files := []map[string]string{}
	for _, body := range bodies {
		text, err := json.MarshalIndent(body.Content, "", "  ")
		if err != nil {
			return fmt.Errorf("writing request %s: %w", body.Name, err)
		}
		path := filepath.Join(o.dir, body.Name+".json")
		if err := private(path, append(text, '\n')); err != nil {
			return fault.Usage("--dir", err, "name a folder that you may write to")
		}
		table.Rows = append(table.Rows, []string{string(body.Operation), path})
		files = append(files, map[string]string{"operation": string(body.Operation), "file": path})
	}
	return ui.Output(streams.Out, o.format, files, table)
}

// private writes a file that nobody else can read, also where one was.
func private(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}
