// Whoami answers each request with the address of the client, as the proxy before it tells.
package main

import (
	"io"
	"log"
	"net/http"
	"time"
)

func main() {
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Real-Ip"))
	})}
	log.Fatal(server.ListenAndServe())
}
