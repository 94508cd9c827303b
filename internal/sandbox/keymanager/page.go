package keymanager

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

const (
	defaultLimit = 10
	maxLimit     = 100
)

// page answers with a part of a list, from offset, limit long, and the
// addresses of its neighbours. What is no number counts as not given.
func page[T any](c *api.Call, key string, items []T) error {
	offset, limit := 0, defaultLimit
	if n, err := strconv.Atoi(c.Query("offset")); err == nil && n > 0 {
		offset = n
	}
	if n, err := strconv.Atoi(c.Query("limit")); err == nil && n > 0 {
		limit = min(n, maxLimit)
	}
	total := len(items)
	start, end := min(offset, total), min(offset+limit, total)
	body := map[string]any{key: append([]T{}, items[start:end]...), "total": total}
	if end < total {
		body["next"] = pageURL(c, end, limit)
	}
	if start > 0 {
		body["previous"] = pageURL(c, max(start-limit, 0), limit)
	}
	return c.Reply(http.StatusOK, body)
}

func pageURL(c *api.Call, offset, limit int) string {
	query := c.Request.URL.Query()
	query.Set("offset", strconv.Itoa(offset))
	query.Set("limit", strconv.Itoa(limit))
	return c.URL(c.Request.URL.Path) + "?" + query.Encode()
}

// sorted sorts secrets as the query's sort asks: "created:desc,name".
func sorted(c *api.Call, secrets []secretView) error {
	asked := c.Query("sort")
	if asked == "" {
		return nil
	}
	keys := map[string]func(secretView) string{
		"created": func(v secretView) string { return v.Created }, "updated": func(v secretView) string { return v.Updated },
		"expiration": func(v secretView) string { return text(v.Expiration) }, "name": func(v secretView) string { return v.Name },
		"mode": func(v secretView) string { return text(v.Mode) }, "algorithm": func(v secretView) string { return text(v.Algorithm) },
		"status": func(v secretView) string { return v.Status }, "secret_type": func(v secretView) string { return v.Type },
		"bit_length": func(v secretView) string {
			if v.BitLength == nil {
				return ""
			}
			return fmt.Sprintf("%06d", *v.BitLength)
		},
	}
	var orders []func(a, b secretView) int
	for _, part := range strings.Split(asked, ",") {
		name, direction, _ := strings.Cut(part, ":")
		key, ok := keys[name]
		if !ok || direction != "" && direction != "asc" && direction != "desc" {
			return api.BadRequest("Invalid value for query parameter 'sort': %q", part)
		}
		orders = append(orders, func(a, b secretView) int {
			n := cmp.Compare(key(a), key(b))
			if direction == "desc" {
				n = -n
			}
			return n
		})
	}
	slices.SortStableFunc(secrets, func(a, b secretView) int {
		for _, order := range orders {
			if n := order(a, b); n != 0 {
				return n
			}
		}
		return 0
	})
	return nil
}
