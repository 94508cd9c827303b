// Command livenessprobe answers /healthz by asking a CSI driver whether it is
// ready. It stands in for the Kubernetes project's program of that name, whose
// module is not served by module proxies, and takes the same flags as the
// charts use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	address := flag.String("csi-address", "/run/csi/socket", "socket of the CSI driver")
	port := flag.String("health-port", "9808", "port of /healthz")
	endpoint := flag.String("http-endpoint", "", "address of /healthz, instead of --health-port")
	timeout := flag.Duration("probe-timeout", time.Second, "bound of one probe")
	flag.Parse()
	if *endpoint == "" {
		*endpoint = net.JoinHostPort("0.0.0.0", *port)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, *address, *endpoint, *timeout); err != nil {
		klog.ErrorS(err, "Serving health checks")
		os.Exit(1)
	}
}

func run(ctx context.Context, address, endpoint string, timeout time.Duration) error {
	conn, err := connection.ConnectWithoutMetrics(ctx, address)
	if err != nil {
		return fmt.Errorf("connecting to the driver: %w", err)
	}
	defer conn.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := probe(r.Context(), conn, timeout); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Addr: endpoint, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func probe(ctx context.Context, conn *grpc.ClientConn, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ready, err := rpc.Probe(ctx, conn)
	if err == nil && !ready {
		err = errors.New("the driver is not ready")
	}
	return err
}
