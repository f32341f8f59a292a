package dev.verbena.s3.server;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/** The faults of a server. All methods may be called while it serves requests. */
public final class Faults {
  /** All requests for objects with a token. */
  public static final Predicate<S3Request> WITH_TOKEN =
      request -> request.token().isPresent() && request.operation() != Operation.RC_CONNECT;

  private final List<Rule> rules = new CopyOnWriteArrayList<>();
  private final List<Gate> gates = new CopyOnWriteArrayList<>();

  Faults() {}

  private record Rule(Predicate<S3Request> condition, Plan plan) {}

  /** What happens with a request. */
  record Plan(Set<Fault> faults, List<Gate> beforeTransfer, List<Gate> beforeAnswer) {
    boolean has(Fault fault) {
      return faults.contains(fault);
    }

    /** Ends a request whose data was moved, with the error that is wanted. */
    void failAfterTransfer() {
      if (has(Fault.ERROR_500_AFTER_TRANSFER)) {
        throw S3Exception.internal("a fault was wanted");
      }
      if (has(Fault.ERROR_503_AFTER_TRANSFER)) {
        throw new S3Exception(503, "SlowDown", "a fault was wanted");
      }
    }
  }

  /**
   * Sets faults for the next requests with a token.
   *
   * @param requests how many
   * @param faults the faults
   */
  public void next(int requests, Fault... faults) {
    when(limited(requests), faults);
  }

  /**
   * Sets faults for all requests of a kind.
   *
   * @param condition which requests; called once for each
   * @param faults the faults
   */
  public void when(Predicate<S3Request> condition, Fault... faults) {
    rules.add(new Rule(condition, new Plan(Set.of(faults), List.of(), List.of())));
  }

  /**
   * {@return a gate that holds the next requests with a token before they move data}
   *
   * @param requests how many
   */
  public Gate holdBeforeTransfer(int requests) {
    return holdBeforeTransfer(limited(requests));
  }

  /**
   * {@return a gate that holds requests before they move data}
   *
   * @param condition which requests
   */
  public Gate holdBeforeTransfer(Predicate<S3Request> condition) {
    Gate gate = newGate();
    rules.add(new Rule(condition, new Plan(Set.of(), List.of(gate), List.of())));
    return gate;
  }

  /**
   * {@return a gate that holds the next requests with a token before they are answered}
   *
   * @param requests how many
   */
  public Gate holdBeforeAnswer(int requests) {
    return holdBeforeAnswer(limited(requests));
  }

  /**
   * {@return a gate that holds requests before they are answered}
   *
   * @param condition which requests
   */
  public Gate holdBeforeAnswer(Predicate<S3Request> condition) {
    Gate gate = newGate();
    rules.add(new Rule(condition, new Plan(Set.of(), List.of(), List.of(gate))));
    return gate;
  }

  /** Ends all faults, and opens all gates. */
  public void clear() {
    rules.clear();
    gates.forEach(Gate::open);
    gates.clear();
  }

  private Gate newGate() {
    Gate gate = new Gate();
    gates.add(gate);
    return gate;
  }

  private static Predicate<S3Request> limited(int requests) {
    AtomicInteger left = new AtomicInteger(requests);
    return WITH_TOKEN.and(_ -> left.getAndUpdate(n -> Math.max(0, n - 1)) > 0);
  }

  Plan plan(S3Request request) {
    List<Plan> plans =
        rules.stream().filter(rule -> rule.condition().test(request)).map(Rule::plan).toList();
    return new Plan(
        Set.copyOf(plans.stream().flatMap(plan -> plan.faults().stream()).toList()),
        plans.stream().flatMap(plan -> plan.beforeTransfer().stream()).toList(),
        plans.stream().flatMap(plan -> plan.beforeAnswer().stream()).toList());
  }
}
