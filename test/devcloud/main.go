// Command devcloud runs an OpenStack of Debian's packages on this host, to keep
// the sandbox and Slipway honest: up, down, purge, exec COMMAND….
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == cloud.InitCommand {
		exit(cloud.Init(os.Args[2]))
	}
	dir := flag.String("dir", "devcloud", "folder of the cloud")
	mirror := flag.String("mirror", os.Getenv("DEVCLOUD_MIRROR"), "Debian's archive (default deb.debian.org)")
	machines := flag.Bool("machines", false, "boot guests, forward packets, store volumes")
	horizon := flag.Bool("horizon", false, "serve Horizon with its panels for Magnum")
	clusters := flag.Bool("clusters", false, "give Magnum its driver for Cluster API, and have OpenStack's client")
	tacker := flag.String("tacker", "", "serve the Tacker that is installed in this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, *dir, *mirror, kinds{*machines, *horizon, *clusters, *tacker}, flag.Args()))
}

// kinds are what a cloud may have besides what every cloud has.
type kinds struct {
	machines, horizon, clusters bool
	tacker                      string
}

func run(ctx context.Context, dir, mirror string, has kinds, args []string) error {
	c, err := cloud.New(dir)
	if err != nil {
		return err
	}
	if has.tacker != "" {
		if c.Tacker, err = filepath.Abs(has.tacker); err != nil {
			return fmt.Errorf("finding Tacker's folder: %w", err)
		}
	}
	begin := time.Now()
	c.Mirror, c.Machines, c.Horizon, c.Clusters = mirror, has.machines, has.horizon, has.clusters
	c.Tell = func(format string, args ...any) {
		fmt.Printf("%4.0f s  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "up":
		if err := c.Up(ctx); err != nil {
			return err
		}
		c.Tell("ready: export OS_CLIENT_CONFIG_FILE=%s OS_CLOUD=devcloud", c.CloudsYAML())
		return nil
	case "down":
		return c.Down(ctx)
	case "purge":
		return c.Purge(ctx)
	case "exec":
		if len(args) > 1 {
			return execute(ctx, c, args[1:])
		}
	}
	return fmt.Errorf("usage: devcloud [-dir FOLDER] [-mirror URL] [-machines] [-horizon] [-clusters] [-tacker FOLDER] up | down | purge | exec COMMAND…")
}

func execute(ctx context.Context, c *cloud.Cloud, args []string) error {
	cmd, err := c.Command(ctx, args[0], args[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcloud:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
