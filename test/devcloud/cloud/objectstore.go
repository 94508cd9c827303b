package cloud

import "fmt"

// rings are Swift's servers, each with the port of its own: where it looks for accounts,
// containers and objects.
var rings = [...]struct {
	name string
	port int
}{{"account", 6202}, {"container", 6201}, {"object", 6200}}

// objectStore are the services of Swift, with the API of S3 in its proxy. It keeps one copy of
// each object, below /var/lib/swift.
func objectStore() []service {
	var all []service
	for _, r := range rings {
		all = append(all, swift(r.name, r.port, ""))
	}
	return append(all, swift("proxy", 8080, "/healthcheck"))
}

func swift(name string, port int, ready string) service {
	return service{name: "swift-" + name, port: port, ready: ready,
		command: fmt.Sprintf("swift-%s-server /etc/swift/%s-server.conf --verbose", name, name)}
}

// makeRings are the commands that write Swift's rings: one copy, on one device.
func makeRings(address string) []string {
	var all []string
	for _, r := range rings {
		builder := fmt.Sprintf("swift-ring-builder /etc/swift/%s.builder", r.name)
		all = append(all, builder+" create 4 1 1", fmt.Sprintf("%s add r1z1-%s:%d/d1 1", builder, address, r.port), builder+" rebalance")
	}
	return all
}
