package dev.verbena.docs;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.summingInt;
import static java.util.stream.Collectors.toMap;

import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A limit of a size in this project. */
enum Limit {
  /** The packages that use each other, directly or by others. */
  PACKAGES_IN_A_CYCLE(1, 1) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return project.packageGraph().cycles();
    }
  },

  FILES_IN_A_PACKAGE(60, 1) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return project.product().collect(groupingBy(SourceFile::packageName, summingInt(_ -> 1)));
    }
  },

  /** Of a class with its nested classes; tests and benchmarks, too. */
  LINES_OF_A_CLASS(700, 50) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return project.sources().stream()
          .filter(SourceFile::isByHand)
          .collect(toMap(SourceFile::simpleName, SourceFile::lines, Integer::max));
    }
  },

  /** The classes of a package that use each other, directly or by others. */
  CLASSES_IN_A_CYCLE(15, 1) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return project.packages().keySet().stream().collect(toMap(n -> n, project::largestCycle));
    }
  },

  /** Of the library, the command line, tests and benchmarks. */
  CLASSES_OF_ONE_NAME(1, 1) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return project.sources().stream()
          .collect(groupingBy(SourceFile::simpleName, summingInt(_ -> 1)));
    }

    @Override
    String describe(Project project, String name) {
      return project.sources().stream()
          .filter(source -> source.simpleName().equals(name))
          .map(SourceFile::type)
          .collect(joining(", "));
    }
  },

  PUBLIC_TYPES_WITHOUT_USE(0, 1) {
    @Override
    Map<String, Integer> sizes(Project project) throws IOException {
      return project.typesWithoutUse();
    }
  },

  LINES_OF_THE_LIBRARY(87_300, 100) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return Map.of("all", project.lines(SourceFile::isLibrary));
    }
  },

  LINES_OF_THE_COMMAND_LINE(10_500, 100) {
    @Override
    Map<String, Integer> sizes(Project project) {
      return Map.of("all", project.lines(SourceFile::isTools));
    }
  };

  private final int largest;
  private final int step;

  /**
   * Creates a limit.
   *
   * @param step exceptions from the limit are multiples of it, so that they change seldom
   */
  Limit(int largest, int step) {
    this.largest = largest;
    this.step = step;
  }

  static Limit named(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT).replace(' ', '_'));
  }

  /** The size of everything of which there is a limit, by its name. */
  abstract Map<String, Integer> sizes(Project project) throws IOException;

  /** What a message says of something that is too large. */
  String describe(Project project, String name) {
    return name;
  }

  int largest() {
    return largest;
  }

  /** The sizes above the limit. */
  Map<String, Integer> exceeding(Project project) throws IOException {
    Map<String, Integer> exceeding = new TreeMap<>(sizes(project));
    exceeding.values().removeIf(size -> size <= largest);
    return exceeding;
  }

  /** The exception that permits a size. */
  int exceptionFor(int size) {
    return (size + step - 1) / step * step;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
