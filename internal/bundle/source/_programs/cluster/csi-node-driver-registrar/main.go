// Command csi-node-driver-registrar tells the kubelet about a CSI driver on
// its node, by the kubelet's plugin registration interface. It stands in for
// the Kubernetes project's program of that name, whose module is not served by
// module proxies, and takes the same flags as the charts use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type options struct {
	driver, kubelet, directory string
	timeout                    time.Duration
}

func main() {
	klog.InitFlags(nil)
	var o options
	flag.StringVar(&o.driver, "csi-address", "/run/csi/socket", "socket of the CSI driver in this container")
	flag.StringVar(&o.kubelet, "kubelet-registration-path", "", "path of the driver's socket as the kubelet sees it")
	flag.StringVar(&o.directory, "plugin-registration-path", "/registration", "folder of the kubelet's plugin sockets")
	flag.DurationVar(&o.timeout, "timeout", time.Second, "bound of a call to the driver")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, o); err != nil {
		klog.ErrorS(err, "Registering the CSI driver")
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.kubelet == "" {
		return errors.New("--kubelet-registration-path is missing")
	}
	name, err := driverName(ctx, o)
	if err != nil {
		return fmt.Errorf("asking the driver for its name: %w", err)
	}
	socket := filepath.Join(o.directory, name+"-reg.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing old socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening for the kubelet: %w", err)
	}
	defer os.Remove(socket)
	server := grpc.NewServer()
	refused := make(chan error, 1)
	registration.RegisterRegistrationServer(server, &registrar{name: name, endpoint: o.kubelet, refused: refused})
	go func() {
		select {
		case <-ctx.Done():
		case err = <-refused:
		}
		server.GracefulStop()
	}()
	klog.InfoS("Waiting for the kubelet", "driver", name, "socket", socket)
	if serveErr := server.Serve(listener); serveErr != nil {
		return serveErr
	}
	return err
}

// driverName connects to the driver, waiting for its socket for as long as it takes.
func driverName(ctx context.Context, o options) (string, error) {
	conn, err := connection.ConnectWithoutMetrics(ctx, o.driver)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := rpc.ProbeForever(ctx, conn, o.timeout); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return rpc.GetDriverName(ctx, conn)
}

// registrar answers the kubelet's plugin watcher.
type registrar struct {
	registration.UnimplementedRegistrationServer
	name, endpoint string
	refused        chan<- error
}

// GetInfo says which driver this is and where its socket lies.
func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus ends the program when the kubelet refused: its
// restart makes the kubelet try again.
func (r *registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !s.PluginRegistered {
		r.refused <- fmt.Errorf("the kubelet refused: %s", s.Error)
	}
	klog.InfoS("Registration", "registered", s.PluginRegistered)
	return &registration.RegistrationStatusResponse{}, nil
}
