package dev.verbena.tools;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The objects of one kind on this host, as {@code rdma resource show} prints them.
 *
 * @param objects the words and values of each object
 * @param problem why they are not known; empty if they are
 */
record RdmaResource(List<Map<String, String>> objects, String problem) {
  /** The words that begin a value. The name of a process may contain spaces. */
  private static final Set<String> WORDS =
      Set.of(
          ("link lqpn pdn rqpn type qp-type state ps rq-psn sq-psn path-mig-state pid comm cm-idn"
                  + " src-addr dst-addr")
              .split(" "));

  /** Returns the objects of a kind: {@code qp} or {@code cm_id}. */
  static RdmaResource show(String kind) throws InterruptedException {
    List<String> command = List.of("rdma", "resource", "show", kind);
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String text =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return process.waitFor() == 0
          ? new RdmaResource(parse(text), "")
          : new RdmaResource(List.of(), String.join(" ", command) + ": " + text);
    } catch (IOException e) {
      return new RdmaResource(
          List.of(), "the program rdma (package iproute2) cannot be started: " + e.getMessage());
    }
  }

  /** Reads what {@code rdma resource show} prints: a line for each object. */
  static List<Map<String, String>> parse(String text) {
    return text.lines().filter(line -> !line.isBlank()).map(RdmaResource::object).toList();
  }

  private static Map<String, String> object(String line) {
    Map<String, String> object = new LinkedHashMap<>();
    String word = "";
    for (String token : line.strip().split(" +", -1)) {
      if (WORDS.contains(token) && !object.containsKey(token)) {
        word = token;
        object.put(word, "");
      } else {
        object.merge(word, token, (start, more) -> start.isEmpty() ? more : start + " " + more);
      }
    }
    return object;
  }
}
