package dev.verbena.s3;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import software.amazon.awssdk.http.SdkHttpRequest;

/** The endpoints that the settings name. Clients with equal settings share them. */
final class Endpoints {
  private static final Map<Settings, Endpoints> ALL = new ConcurrentHashMap<>();

  private final Settings settings;
  private final List<Endpoint> listed = new ArrayList<>();

  private Endpoints(Settings settings) {
    this.settings = settings;
    for (String name : settings.endpoints()) {
      listed.add(new Endpoint(name, settings));
    }
  }

  static Endpoints of(Settings settings) {
    return ALL.computeIfAbsent(settings, Endpoints::new);
  }

  /** Returns the counters of all endpoints by their names. */
  static Map<String, Map<S3Counter, Long>> counters() {
    Map<String, Map<S3Counter, Long>> counters = new TreeMap<>();
    for (Endpoints endpoints : ALL.values()) {
      endpoints.listed.forEach(
          e ->
              e.counters.addTo(
                  counters.computeIfAbsent(e.toString(), _ -> new EnumMap<>(S3Counter.class))));
    }
    return counters;
  }

  Settings settings() {
    return settings;
  }

  boolean isEmpty() {
    return listed.isEmpty();
  }

  /** Returns the endpoint of a request, also if its host begins with the bucket. */
  Optional<Endpoint> of(SdkHttpRequest request) {
    String host = Endpoint.bare(request.host());
    return listed.stream()
        .filter(e -> e.isAt(host, request.port(), request.protocol()))
        .max(Comparator.comparingInt(e -> e.toString().length())); // The others have buckets.
  }
}
