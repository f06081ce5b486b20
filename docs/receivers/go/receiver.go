// Receives webhooks: verifies each delivery, stores it once, responds, and processes it afterwards.
//
//	FORMSVC_SIGNING_SECRET=whsec_... go run receiver.go [PORT]
//
// Needs only the standard library. Stores submissions in the folder FORMSVC_INBOX, by default
// ~/.local/state/webhook-receiver/go.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	bodyMax   = 1 << 20
	tolerance = 300 // seconds in the past or future
)

type event struct {
	Event        string          `json:"event"`
	SubmissionID string          `json:"submission_id"`
	Data         json.RawMessage `json:"data"`
}

type receiver struct {
	secret []byte
	inbox  string
	work   chan struct{}
}

// isRight returns true if the service signed these bytes within the tolerance.
func (r *receiver) isRight(header string, body []byte, now int64) bool {
	var times, signatures []string
	for _, part := range strings.Split(header, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "t":
			times = append(times, value)
		case "v1":
			signatures = append(signatures, value)
		}
	}
	if len(times) != 1 {
		return false
	}
	signedAt, err := strconv.ParseUint(times[0], 10, 40)
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, r.secret)
	mac.Write([]byte(times[0] + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	// One match is enough: during the rotation of a secret there are two signatures.
	matches := false
	for _, one := range signatures {
		matches = hmac.Equal([]byte(one), expected) || matches
	}
	age := now - int64(signedAt)
	return matches && age <= tolerance && age >= -tolerance
}

// keep stores a submission durably: the file is complete or absent. It returns false for a known submission.
func (r *receiver) keep(submissionID string, body []byte) (bool, error) {
	work, err := os.CreateTemp(r.inbox, ".partial-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(work.Name())
	defer work.Close()
	if _, err := work.Write(body); err != nil {
		return false, err
	}
	if err := work.Sync(); err != nil {
		return false, err
	}
	// An id can be any text, so it cannot be a file name.
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(submissionID)))
	err = os.Link(work.Name(), filepath.Join(r.inbox, name))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	// The name of a new file is durable once the folder is synced.
	folder, err := os.Open(r.inbox)
	if err != nil {
		return false, err
	}
	defer folder.Close()
	return true, folder.Sync()
}

// handle processes a submission: put your code here. It may take any time.
func handle(e event) error {
	// Quoted, because control characters would act on the terminal. Shortened to 200 characters, because a
	// submission can have a megabyte.
	fmt.Printf("%.200q %.200q\n", e.SubmissionID, e.Data)
	return nil
}

// handleAll handles the stored submissions, also those of earlier runs. After an error it retries them later.
func (r *receiver) handleAll() {
	for range r.work {
		files, _ := filepath.Glob(filepath.Join(r.inbox, "*.json"))
		for _, file := range files {
			if _, err := os.Stat(file + ".handled"); err == nil {
				continue
			}
			var e event
			body, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(body, &e)
			}
			if err == nil {
				err = handle(e)
			}
			if err == nil {
				err = os.WriteFile(file+".handled", nil, 0o600)
			}
			if err != nil {
				log.Printf("not handled: %s: %q", file, err)
			}
		}
	}
}

func (r *receiver) workLater() {
	select {
	case r.work <- struct{}{}:
	default: // A check is already pending.
	}
}

// take returns the status of the response.
func (r *receiver) take(w http.ResponseWriter, request *http.Request) int {
	if request.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, bodyMax))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	} else if err != nil {
		return http.StatusBadRequest
	}
	headers := request.Header.Values("X-Service-Signature")
	if len(headers) != 1 || !r.isRight(headers[0], body, time.Now().Unix()) {
		return http.StatusUnauthorized
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return http.StatusBadRequest
	}
	if e.Event != "submission.created" {
		// Not handled here. A response other than 2xx would cause useless retries.
		return http.StatusOK
	}
	if e.SubmissionID == "" {
		return http.StatusBadRequest
	}
	kept, err := r.keep(e.SubmissionID, body)
	if err != nil {
		log.Print(err)
		return http.StatusInternalServerError
	}
	if kept {
		r.workLater()
	}
	return http.StatusOK
}

// ServeHTTP responds with only the status, because a text could reveal something to strangers.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	status := r.take(w, request)
	w.WriteHeader(status)
}

func main() {
	log.SetFlags(0)
	inbox, port := os.Getenv("FORMSVC_INBOX"), "9000"
	if inbox == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			log.Fatal(err)
		}
		inbox = filepath.Join(home, ".local", "state", "webhook-receiver", "go")
	}
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	r := &receiver{[]byte(os.Getenv("FORMSVC_SIGNING_SECRET")), inbox, make(chan struct{}, 1)}
	if len(r.secret) == 0 {
		log.Fatal("set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint")
	}
	if err := os.MkdirAll(inbox, 0o700); err != nil {
		log.Fatal(err)
	}
	// Loopback only: the proxy in front of it handles HTTPS.
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	go r.handleAll()
	r.workLater()
	fmt.Printf("listening on http://%s/\n", listener.Addr())
	// Limits the time of senders that stop in the middle of a request.
	server := &http.Server{Handler: r, ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
