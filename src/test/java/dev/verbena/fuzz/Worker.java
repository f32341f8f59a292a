package dev.verbena.fuzz;

import dev.verbena.cm.AddressQuery;
import dev.verbena.flow.EspTransform;
import dev.verbena.flow.FlowMatch;
import dev.verbena.packet.PacketBuffers;
import dev.verbena.packet.PacketPort;
import dev.verbena.util.ReceiveRing;
import dev.verbena.util.SendRing;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryRegistration;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.RequestList;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.TagOperations;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** One of the threads of a round: makes random calls until the round is over. */
final class Worker implements Runnable {
  /** What is documented to be used by one thread at a time; shared in some rounds. */
  private static final List<Class<?>> OF_ONE_THREAD =
      List.of(
          RequestList.class,
          SendRequest.class,
          Completions.class,
          TagOperations.class,
          ReceiveRing.class,
          SendRing.class,
          CompletionWaiter.class,
          PacketPort.class,
          PacketBuffers.class);

  /** What builds others; never shared. */
  private static final List<Class<?>> BUILDERS =
      List.of(
          MemoryRegistration.class,
          MemoryRegion.Reregistration.class,
          FlowMatch.class,
          EspTransform.class,
          QueuePairSetup.class,
          AddressQuery.class);

  /** How deep the search for an argument goes that no pool has. */
  private static final int DEPTH = 3;

  /** One in so many calls is of a class that was added to the API. */
  private static final int OF_ADDED = 20;

  private static final int TEXT = 160;

  private final Round round;
  private final int index;
  private final Pool own = new Pool();
  private final Recipes recipes = new Recipes(this);
  private final Map<Class<?>, List<Executable>> producers = new HashMap<>();
  private Random random;
  private Values values;
  private int depth;

  /** Whether C holds a lock for this thread, which must not do anything then that may wait. */
  private boolean inSession;

  private boolean inCallback;

  /** When the call that this thread is in began, or 0. Read by the watchdog. */
  volatile long since;

  /** How many calls this thread has made. Read by the watchdog. */
  volatile long calls;

  volatile Thread thread;

  Worker(Round round, int index) {
    this.round = round;
    this.index = index;
  }

  Pool own() {
    return own;
  }

  Round round() {
    return round;
  }

  Random random() {
    return random;
  }

  @Override
  public void run() {
    thread = Thread.currentThread();
    for (long step = 0; round.next(); step++) {
      // Each step has a seed of its own, so that a step left out does not change the next ones.
      random = new Random(mix(round.seed, index, step));
      values =
          new Values(random, round.memory, round.target.addresses(), round.harvest, this::object);
      depth = 0;
      boolean _ = Thread.interrupted();
      step();
    }
  }

  private static long mix(long seed, int index, long step) {
    long z = seed + 0x9e37_79b9_7f4a_7c15L * (step * Journal.THREADS + index + 1);
    z = (z ^ (z >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d0_49bb_1331_11ebL;
    return z ^ (z >>> 31);
  }

  private void step() {
    int kind = random.nextInt(100);
    if (kind < 6 || round.pool.open(Context.class) == 0) {
      recipes.one();
    } else if (kind < 12) {
      recipes.burst();
    } else if (kind < 13) {
      closeSomething();
    } else {
      List<Class<?>> added = round.surface.added();
      boolean special = !added.isEmpty() && random.nextInt(OF_ADDED) == 0;
      List<Class<?>> classes = special ? added : round.surface.classes();
      Class<?> type = classes.get(random.nextInt(classes.size()));
      if (!isActive(type)) {
        type = classes.get(random.nextInt(classes.size()));
      }
      List<Executable> choice = round.surface.of(type);
      if (choice != null) {
        attempt(choice.get(random.nextInt(choice.size())));
      }
    }
  }

  /** Whether a class does something, unlike those that only carry values. */
  private static boolean isActive(Class<?> type) {
    return !type.isEnum() && !type.isRecord();
  }

  private void closeSomething() {
    if (random.nextInt(4) == 0) {
      perform("close an arena", () -> round.memory.closeOne(random));
      return;
    }
    Object victim = pick(random.nextInt(4) == 0 ? AutoCloseable.class : Resource.class);
    if (victim != null && (!(victim instanceof Context) || random.nextInt(8) == 0)) {
      close((AutoCloseable) victim);
    }
  }

  /** Calls a method or a constructor, with what it takes. */
  void attempt(Executable called) {
    Object receiver = null;
    if (called instanceof Method && !Modifier.isStatic(called.getModifiers())) {
      receiver = object(called.getDeclaringClass());
      if (receiver == null) {
        return;
      }
      if (called.getName().equals("close")
          && receiver instanceof Context
          && random.nextInt(20) != 0) {
        return; // Too much goes with it.
      }
    }
    call(called, receiver);
  }

  /** Calls a method of an object, or a constructor. */
  Object call(Executable called, Object receiver) {
    Type[] types = called.getGenericParameterTypes();
    Object[] arguments = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      arguments[i] = Restrictions.of(called, i, random, round.memory);
      if (Restrictions.FREE.equals(arguments[i])) {
        arguments[i] = values.of(known(types[i], receiver));
      }
    }
    return call(called, receiver, arguments);
  }

  /** What a parameter of the type of the receiver stands for in its class. */
  private static Type known(Type type, Object receiver) {
    if (type instanceof TypeVariable<?> variable
        && receiver != null
        && receiver.getClass().getGenericSuperclass() instanceof ParameterizedType known
        && known.getRawType().equals(variable.getGenericDeclaration())) {
      List<TypeVariable<?>> variables =
          List.of(variable.getGenericDeclaration().getTypeParameters());
      return known.getActualTypeArguments()[variables.indexOf(variable)];
    }
    return type;
  }

  private Object call(Executable called, Object receiver, Object[] arguments) {
    Object result = null;
    long outer = since;
    begin(text(called, receiver, arguments));
    boolean returned = false;
    try {
      called.setAccessible(true); // A public method may be inherited from an internal class.
      result =
          called instanceof Method method
              ? method.invoke(receiver, arguments)
              : ((Constructor<?>) called).newInstance(arguments);
      returned = true;
    } catch (InvocationTargetException e) {
      judge(called, receiver, arguments, e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(called.toString(), e);
    } finally {
      end(returned, outer);
    }
    if (result instanceof Posting || result instanceof CompletionCursor) {
      session((AutoCloseable) result);
    } else {
      keep(result);
    }
    return result;
  }

  private void judge(Executable called, Object receiver, Object[] arguments, Throwable thrown) {
    String objection = Verdict.objection(called, arguments, thrown);
    if (objection != null) {
      report(
          Verdict.signature(called, thrown, objection), text(called, receiver, arguments), thrown);
    }
  }

  private void report(String signature, String text, Throwable thrown) {
    round.findings.add(signature, "seed " + round.seed + ", thread " + index + ": " + text, thrown);
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // One thread writes it.
  private void begin(String text) {
    round.journal.begin(index, text);
    calls++;
    since = System.nanoTime();
  }

  private void end(boolean returned, long outer) {
    since = outer;
    round.journal.end(index, returned);
  }

  /** What a recipe does. */
  interface Action {
    void run() throws Exception;
  }

  /** Makes the calls of a recipe, which may fail like any other, but not from inside. */
  void perform(String name, Action action) {
    long outer = since;
    begin(name);
    boolean returned = false;
    try {
      action.run();
      returned = true;
    } catch (Exception | Error e) {
      String objection = Verdict.objection(RUN, new Object[] {null, Long.MAX_VALUE}, e);
      if (objection != null) {
        report(Verdict.signature(RUN, e, objection), name, e);
      }
    } finally {
      end(returned, outer);
    }
  }

  private static final Method RUN = runMethod();

  private static Method runMethod() {
    try {
      return Action.class.getDeclaredMethod("run");
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }

  /** Uses what C holds a lock for, and gives it back. */
  private void session(AutoCloseable held) {
    if (inSession) {
      perform("close " + held, held::close);
      return;
    }
    inSession = true;
    try {
      List<Executable> choice = round.surface.of(held.getClass());
      for (int i = random.nextInt(8); i > 0; i--) {
        call(choice.get(random.nextInt(choice.size())), held);
      }
    } finally {
      inSession = false;
      perform("close " + held.getClass().getSimpleName(), held::close);
    }
  }

  /** Keeps what a call returned, for further calls. */
  void keep(Object result) {
    switch (result) {
      case null -> {}
      case Integer _, Long _ -> round.harvest.add(result, random);
      case Optional<?> optional -> optional.ifPresent(this::keep);
      case Collection<?> many -> many.stream().limit(4).forEach(this::keep);
      default -> {
        Class<?> type = result.getClass();
        if (!type.isEnum() && round.surface.isApi(type)) {
          Object leaving = poolOf(type).add(result, random);
          if (leaving instanceof AutoCloseable closeable) {
            close(closeable);
          }
        }
      }
    }
  }

  private void close(AutoCloseable object) {
    if (inSession) {
      // Closing may wait for a thread that needs the lock which this thread holds.
      round.closeLater(object);
      return;
    }
    perform("close " + name(object), object::close);
  }

  private Pool poolOf(Class<?> type) {
    boolean isOwn =
        type.getSimpleName().endsWith("Builder")
            || BUILDERS.stream().anyMatch(o -> o.isAssignableFrom(type))
            || (!round.sharesLists
                && OF_ONE_THREAD.stream().anyMatch(o -> o.isAssignableFrom(type)));
    return isOwn ? own : round.pool;
  }

  /** Some object of a type that a pool has. */
  Object pick(Class<?> type) {
    Object found = poolOf(type).pick(type, random);
    return found == null && poolOf(type) == round.pool ? own.pick(type, random) : found;
  }

  /** Some object of a type: of a pool, or made for it; null if neither works. */
  private Object object(Class<?> type) {
    if ((type.isInterface() && !round.surface.isApi(type)) || Callbacks.isCallback(type)) {
      return callback(type);
    }
    Object found = random.nextInt(100) < 85 ? pick(type) : null;
    if (found == null && !inSession && depth < DEPTH) {
      depth++;
      found = produce(type);
      depth--;
    }
    return found == null ? pick(type) : found;
  }

  private Object produce(Class<?> type) {
    List<Executable> makers =
        producers.computeIfAbsent(
            type, t -> round.surface.all().stream().filter(e -> makes(e, t)).toList());
    if (makers.isEmpty()) {
      return null;
    }
    Executable maker = makers.get(random.nextInt(makers.size()));
    Object receiver = null;
    if (maker instanceof Method && !Modifier.isStatic(maker.getModifiers())) {
      receiver = object(maker.getDeclaringClass());
      if (receiver == null) {
        return null;
      }
    }
    Object made = call(maker, receiver);
    return type.isInstance(made) && !(made instanceof Posting) ? made : null;
  }

  private static boolean makes(Executable maker, Class<?> type) {
    return maker instanceof Method method
        ? type.isAssignableFrom(method.getReturnType())
            && method.getDeclaringClass() != method.getReturnType()
        : type.isAssignableFrom(maker.getDeclaringClass());
  }

  private Object callback(Class<?> type) {
    return Proxy.newProxyInstance(
        Worker.class.getClassLoader(),
        new Class<?>[] {type},
        (proxy, method, arguments) -> calledBack(type, method, arguments));
  }

  /** On a thread of the library as well, where it does nothing but return or throw. */
  private Object calledBack(Class<?> type, Method method, Object[] arguments) {
    if (method.getDeclaringClass() == Object.class) {
      return switch (method.getName()) {
        case "toString" -> "callback " + type.getSimpleName();
        case "hashCode" -> 1;
        default -> false;
      };
    }
    if (Thread.currentThread().equals(thread) && !inCallback && !inSession) {
      inCallback = true;
      try {
        switch (random.nextInt(6)) {
          case 0 -> throw new Verdict.Thrown();
          case 1 -> step();
          default -> {}
        }
      } finally {
        inCallback = false;
      }
    }
    return Callbacks.result(method.getReturnType(), arguments);
  }

  // Text

  private static String text(Executable called, Object receiver, Object[] arguments) {
    StringBuilder text = new StringBuilder();
    if (receiver != null) {
      text.append(name(receiver)).append(' ');
    }
    text.append(Surface.name(called.getDeclaringClass()));
    if (called instanceof Method) {
      text.append('.').append(called.getName());
    }
    text.append('(');
    for (int i = 0; i < arguments.length; i++) {
      text.append(i == 0 ? "" : ", ").append(name(arguments[i]));
    }
    return text.append(')').toString();
  }

  private static String name(Object object) {
    return switch (object) {
      case null -> "null";
      case MemorySegment segment -> segment(segment);
      case Number _, Boolean _, Enum<?> _, Record _ -> shorten(safe(object));
      case String s -> '"' + s + '"';
      case Collection<?> many -> many.stream().map(Worker::name).toList().toString();
      case Resource resource -> identity(object) + (resource.isOpen() ? "" : " closed");
      default ->
          object.getClass().isArray()
              ? object.getClass().getComponentType().getSimpleName() + array(object)
              : object.getClass().getName().startsWith("java.")
                  ? shorten(safe(object))
                  : identity(object);
    };
  }

  private static String array(Object array) {
    if (array.getClass().getComponentType().isPrimitive()) {
      return "[" + Array.getLength(array) + "]";
    }
    return Arrays.stream((Object[]) array).map(Worker::name).toList().toString();
  }

  private static String identity(Object object) {
    return Surface.name(object.getClass())
        + "#"
        + Integer.toHexString(System.identityHashCode(object));
  }

  /** A record may hold what it should have refused. */
  private static String safe(Object object) {
    try {
      return String.valueOf(object.toString());
    } catch (RuntimeException e) {
      return identity(object);
    }
  }

  private static String shorten(String text) {
    return text.length() <= TEXT ? text : text.substring(0, TEXT) + "...";
  }

  private static String segment(MemorySegment segment) {
    return "segment("
        + (segment.isNative() ? "native " : "heap ")
        + segment.byteSize()
        + (segment.scope().isAlive() ? "" : " closed")
        + (segment.isReadOnly() ? " read-only" : "")
        + ")";
  }
}
